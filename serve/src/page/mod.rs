//! The page for browsers at `/`: plain files inside the program, without a build step.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The page may load its own files and ask its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($path:literal $name:literal $kind:ident;)*) => {
        [$(File { path: $path, kind: $kind, text: include_str!($name) }),*]
    };
}

static FILES: [File; 15] = files! {
    "/" "index.html" HTML;
    "/style.css" "style.css" CSS;
    "/theme.js" "theme.js" JAVASCRIPT;
    "/app.js" "app.js" JAVASCRIPT;
    "/api.js" "api.js" JAVASCRIPT;
    "/charts.js" "charts.js" JAVASCRIPT;
    "/document.js" "document.js" JAVASCRIPT;
    "/dom.js" "dom.js" JAVASCRIPT;
    "/filters.js" "filters.js" JAVASCRIPT;
    "/keys.js" "keys.js" JAVASCRIPT;
    "/nothing.js" "nothing.js" JAVASCRIPT;
    "/ranking.js" "ranking.js" JAVASCRIPT;
    "/results.js" "results.js" JAVASCRIPT;
    "/start.js" "start.js" JAVASCRIPT;
    "/state.js" "state.js" JAVASCRIPT;
};

/// The routes of the page's files, but for [`index`].
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES[1..].iter().fold(Router::new(), |router, file| {
        router.route(file.path, get(move || async move { answer(file) }))
    })
}

/// The HTML, for a route `/` that has other answers too.
pub fn index() -> Response {
    answer(&FILES[0])
}

fn answer(file: &'static File) -> Response {
    let headers = [
        (header::CONTENT_TYPE, file.kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // The files of one version belong together.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, file.text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_loads_is_served() {
        for file in &FILES {
            let starts = ["from \"./", "src=\"", "href=\""];
            let names = starts
                .iter()
                .flat_map(|start| file.text.split(start).skip(1));
            let names = names.filter_map(|rest| rest.split('"').next());
            for name in names.filter(|name| name.ends_with(".js") || name.ends_with(".css")) {
                let path = format!("/{name}");
                assert!(FILES.iter().any(|other| other.path == path), "{path}");
            }
        }
    }

    #[test]
    fn text_never_becomes_html_and_nothing_is_inline() {
        for file in &FILES {
            for part in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!file.text.contains(part), "{}: {part}", file.path);
            }
        }
        let html = FILES[0].text;
        for part in ["<style", "style=\"", "onclick", "<script>"] {
            assert!(!html.contains(part), "{part}");
        }
    }
}
