//! Copies of inputs that can be read only once, in files that can be read again.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::documents::{self, DocumentSource};
use super::source::Source;
use super::{Corpus, Input};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::{Staged, remove_left_over};

/// The files of spooled inputs. They are removed when this is dropped.
#[derive(Default)]
pub struct Spooled {
    files: Vec<Staged>,
}

impl Corpus {
    /// The same corpus from the beginning, without inputs that have been opened. It reports to the same progress.
    pub fn again(&self) -> Corpus {
        let inputs = self.inputs.iter().cloned().collect();
        let again = Corpus::new(inputs, (*self.options).clone());
        let once = matches!(self.current, Some(Source::Documents(_))).then(|| {
            let error = Error::Usage(
                "documents from memory can be read only once; spool them to read them again".into(),
            );
            Source::Documents(DocumentSource::new([Err(error)]))
        });
        Corpus {
            current: once,
            is_from_memory: self.is_from_memory,
            bounds: Arc::clone(&self.bounds),
            progress: self.progress.clone(),
            ..again
        }
    }

    /// Copies standard input, pipes, devices and documents from memory into files beside `output`. The copies can be
    /// read any number of times.
    ///
    /// # Errors
    /// An input cannot be read, or a file cannot be written.
    pub fn spool(&mut self, output: &Path) -> Result<Spooled> {
        let mut spooled = Spooled::default();
        let mut name = output.as_os_str().to_os_string();
        name.push("-input");
        let name = Path::new(&name);
        // Also if no file is needed now.
        remove_left_over(name);
        if let Some(Source::Documents(mut source)) = self
            .current
            .take_if(|source| matches!(source, Source::Documents(_)))
        {
            let mut file = Staged::create(name)?;
            while let Some(document) = source.next(&self.progress)? {
                let written = writeln!(file, "{}", document.line());
                written.map_err(|source| file.failed(source))?;
            }
            file.flush().map_err(|source| file.failed(source))?;
            let path = file.temporary().to_path_buf();
            self.inputs.push_front(Input {
                path: documents::NAME.into(),
                bytes: Input::of_file(&path).bytes,
                memory: None,
                spooled: Some(path),
                holds_documents: true,
            });
            spooled.files.push(file);
        }
        for input in &mut self.inputs {
            if !input.is_read_once() {
                continue;
            }
            let unread = |source| Error::Read {
                path: input.path.clone(),
                source,
            };
            let mut from: Box<dyn io::Read> = match input.is_stdin() {
                true => Box::new(io::stdin()),
                false => Box::new(File::open(&input.path).map_err(unread)?),
            };
            let mut file = Staged::create(name)?;
            copy(&mut from, &mut file, &input.path, &self.progress)?;
            let path = file.temporary().to_path_buf();
            *input = Input {
                bytes: Input::of_file(&path).bytes,
                spooled: Some(path),
                ..input.clone()
            };
            spooled.files.push(file);
        }
        let total = self.inputs.iter().map(|input| input.bytes).sum();
        self.set_total(total);
        Ok(spooled)
    }
}

/// Copies all of `from`, called `name` in errors.
fn copy(from: &mut dyn io::Read, to: &mut Staged, name: &Path, progress: &Progress) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        progress.check()?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                let written = to.write_all(&buffer[..count]);
                written.map_err(|source| to.failed(source))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(Error::Read {
                    path: name.to_path_buf(),
                    source,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::CorpusOptions;

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_twice() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.tsv");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let text = "a\tone\nb\ttwo\n".repeat(10_000);
        let writer = std::thread::spawn({
            let (pipe, text) = (pipe.clone(), text.clone());
            move || std::fs::write(pipe, text).unwrap()
        });
        let mut corpus = Corpus::open(&[&pipe], CorpusOptions::default()).unwrap();
        let spooled = corpus.spool(&folder.path().join("out")).unwrap();
        writer.join().unwrap();
        for mut corpus in [corpus.again(), corpus] {
            let mut documents = 0;
            while let Some((chunk, _)) = corpus.next_chunk().unwrap() {
                documents += chunk.len();
            }
            assert_eq!(documents, 20_000);
        }
        drop(spooled);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
