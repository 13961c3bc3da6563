//! Doubtful code in each language, beyond the calls that all of them share.
//!
//! Each row is a regex for what is not certain to be harmless: loading of code by name, calls by name, changes to
//! processes and files, the whole environment. The rows carry examples, which a test checks.

use crate::effects::words;
use regex::Regex;
use std::sync::LazyLock;

/// A language and what is doubted in it.
struct Language {
    names: &'static [&'static str],
    doubted: &'static str,
    #[cfg(test)]
    matching: &'static [&'static str],
    #[cfg(test)]
    harmless: &'static [&'static str],
}

const LANGUAGES: &[Language] = &[
    Language {
        names: &["python", "pypy", "ipython", "jython"],
        doubted: r"\b(breakpoint|globals|vars|locals|setattr|delattr|extractall|extract|FileHandler|attrgetter|methodcaller|CodeType|FunctionType|open_code|input)\s*\(|\bsys\.(modules|settrace|setprofile|meta_path|path_hooks)\b|\bimport\s+(os|sys|builtins)\s+as\b|\bos\.environ\b\s*([),;\n]|$|\.(copy|items|values|update|setdefault|pop|clear)\b|\[[^\]]*\]\s*=[^=])|\bdict\(os\.environ",
        #[cfg(test)]
        matching: &[
            "breakpoint()",
            "globals()['x']",
            "import os as o",
            "print(os.environ)",
            "dict(os.environ)",
            "os.environ.items()",
            "tarfile.open('x').extractall('/')",
            "sys.modules['os']",
        ],
        #[cfg(test)]
        harmless: &[
            "print(1)",
            "import os; print(os.getcwd())",
            "os.environ['HOME']",
            "os.environ.get('A')",
            "sys.path",
        ],
    },
    Language {
        names: &["node", "nodejs", "deno", "bun", "tsx", "ts-node"],
        doubted: r#"\bprocess\.(kill|binding|dlopen|mainModule|_linkedBinding|abort|chdir|setuid|setgid|getBuiltinModule)\b|\bprocess\.env\b\s*([),;\]}]|$)|\bprocess\s*\[|\b(new\s+)?Function\s*\(|\bconstructor\b|\bglobalThis\s*\[|\bglobal\s*\[|\b_load\b|\bmodule\.|\brunIn\w+\b|\b(require|import)\s*\(\s*([^'"`\s)]|['"`](node:)?(child_process|vm|worker_threads|cluster|net|http|https|http2|dgram|tls|dns|inspector|module|repl|wasi|data:[^'"]*|https?:[^'"]*)['"`/]|['"`](/|\.\./\.\.))|\bDeno\.(version|args|cwd|env\.get|readTextFile|readDir|stat)?[^\w]|\bDeno\.[A-Z]\w*|\bDeno\.(run|remove|write\w*|rename|mkdir|kill|exit\w+|dlopen|listen|connect|symlink|chmod|chown|truncate|copyFile)|\bBun\.([^v\s]|v[^e])"#,
        #[cfg(test)]
        matching: &[
            "process.kill(1)",
            "console.log(process.env)",
            "new Function('x')()",
            "globalThis['ev'+'al']('1')",
            "require('node:vm').runInThisContext('x')",
            "require('worker_threads')",
            "require(x)",
            "require(\"/tmp/x\")",
            "import('child_process')",
            "new Deno.Command('id')",
            "await Bun.$`id`",
            "[].constructor.constructor('x')()",
        ],
        #[cfg(test)]
        harmless: &[
            "console.log(1 + 1)",
            "process.env.HOME",
            "process.version",
            "require('./package.json').version",
            "require('fs').readFileSync('a.json', 'utf8')",
            "Bun.version",
        ],
    },
    Language {
        names: &["perl"],
        doubted: r#"\bopen\b|\bsysopen\b|\bdo\s*["'$(<]|\brequire\s*["'$/]|\buse\s+lib\b|\bkill\b|%ENV\b|%\{?\s*ENV|\bCORE::|\bGLOBAL\b|\\&|&\$|&\{|->\(|\be\s*e\b|/\w*ee\w*|\}\w*ee\b|\bsyscall\b|\bioctl\b|\bglob\b|<[^>=\s]*[*~/][^>]*>|\bdump\b|\buse\s+(Inline|CPAN|IPC|IO::|Socket|Net::|LWP|HTTP|File::Path|File::Copy|POSIX\s)|\$SIG\b|\bsocket\b|\b__(DATA|END)__"#,
        #[cfg(test)]
        matching: &[
            "open F,\"|id\"",
            "do \"x.pl\"",
            "require \"/tmp/x.pl\"",
            "s/(.*)/$1/ee",
            "kill 9, -1",
            "print for %ENV",
            "*x=\\&CORE::system;x(\"id\")",
            "print <$ENV{HOME}/.ssh/*>",
        ],
        #[cfg(test)]
        harmless: &[
            "s/foo/bar/",
            "print if /error/i",
            "print $F[0]",
            "$s += $_; END { print $s }",
            "s/(\\d+)/$1+1/e",
            "print <STDIN>",
        ],
    },
    Language {
        names: &["ruby", "irb", "jruby"],
        doubted: r#"\bopen\s*\(?\s*["']\||\b(send|public_send|__send__|method|instance_eval|class_eval|module_eval|define_method|const_get|instance_exec|binding|set_trace_func|trap|at_exit|abort!)\b|\bProcess\.|\bKernel\b|\bload\b|\brequire_relative\b|\brequire\s*\(?\s*["'](open3|pty|socket|net/|open-uri|fiddle|ffi|drb|rinda|webrick|fileutils|tempfile|etc)|\bFile\.(delete|unlink|rename|symlink|link|chmod|chown|truncate|open\([^)]*["'][wa])|\bDir\.(rmdir|unlink|delete|mkdir)|\bENV\b\s*([),;.]|$)|\bObjectSpace\b|\bMarshal\b|\bIO\.|\.\s*call\b"#,
        #[cfg(test)]
        matching: &[
            "open(\"|id\")",
            "Kernel.send(:system,\"id\")",
            "load \"x.rb\"",
            "Process.kill(9,-1)",
            "Dir[\"**\"].each{|f| File.delete(f)}",
            "p ENV.to_h",
        ],
        #[cfg(test)]
        harmless: &[
            "puts 1 + 1",
            "puts RUBY_VERSION",
            "require 'json'; puts JSON.parse(STDIN.read)['a']",
            "puts ENV['HOME']",
        ],
    },
    Language {
        names: &["php"],
        doubted: r#"\b(include|include_once|require|require_once)\b|\b(call_user_func\w*|create_function|assert|ini_set|putenv|dl|mail|unserialize|array_map|usort|extract|parse_str|header|set_error_handler|register_shutdown_function|unlink|rename|copy|touch|symlink|link|tempnam|move_uploaded_file|phpinfo|var_dump\s*\(\s*\$_(ENV|SERVER))\b|\bgetenv\s*\(\s*\)|\$\w+\s*\(|\$_(ENV|SERVER)\b|\$\$|Reflection|FFI\b"#,
        #[cfg(test)]
        matching: &["include \"/tmp/x\";", "$f(\"id\");", "call_user_func(\"x\");", "phpinfo();"],
        #[cfg(test)]
        harmless: &["echo 1 + 1;", "echo PHP_VERSION;", "echo json_encode([1, 2]);"],
    },
    Language {
        names: &["lua", "luajit", "texlua"],
        doubted: r"\b(dofile|loadfile|load|loadstring|require|debug|package|ffi|setmetatable|_G|_ENV|getfenv|setfenv)\b|\bos\.(execute|remove|rename|exit|tmpname|setlocale)\b|\bio\.(popen|open|output|lines|write\b\s*\{)",
        #[cfg(test)]
        matching: &["dofile(\"/tmp/x\")", "load(\"x\")()", "_G[\"os\"]", "os.remove('x')", "require(\"x\")"],
        #[cfg(test)]
        harmless: &["print(1 + 1)", "print(_VERSION)", "print(os.time())"],
    },
    Language {
        names: &["R", "Rscript"],
        doubted: r"\b(source|sys\.source|unlink|file\.(remove|rename|copy|create|append)|download\.file|install\.packages|remove\.packages|Sys\.(setenv|getenv\s*\(\s*\)|kill|chmod)|writeLines|write\w*|sink|pipe|dyn\.load|system2|shell\.exec|do\.call|match\.fun|get|parse|evalq|saveRDS|save|dump|dput|load|readRDS|url|socketConnection|setwd|quit)\s*\(|\.Internal|\.Call",
        #[cfg(test)]
        matching: &["source(\"/tmp/x\")", "unlink(\"x\")", "install.packages('x')"],
        #[cfg(test)]
        harmless: &["print(1 + 1)", "cat(R.version.string)", "mean(c(1, 2, 3))"],
    },
];

static EXPRESSIONS: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| LANGUAGES.iter().map(|language| Regex::new(language.doubted).ok()).collect());

/// Is something in this code not certain to be harmless? A language without a row is not read at all.
pub(super) fn is_doubted(language: &str, code: &str) -> bool {
    let Some(at) = LANGUAGES.iter().position(|row| row.names.contains(&language)) else { return true };
    let shared =
        EXPRESSIONS.get(at).and_then(Option::as_ref).is_none_or(|expression| expression.is_match(code));
    shared || at == 0 && is_doubted_python(code)
}

/// Modules of Python that start, load, send or change something, or that take code as text.
const DOUBTED_MODULES: &str = "subprocess pty code codeop pdb bdb webbrowser antigravity multiprocessing ctypes cffi _ctypes socket \
    socketserver ssl asyncore asynchat importlib runpy imp zipimport zipapp pickle cPickle dill shelve marshal signal shutil \
    ftplib smtplib poplib imaplib telnetlib nntplib http urllib urllib2 xmlrpc wsgiref requests httpx aiohttp paramiko fabric posix \
    nt _posixsubprocess fcntl resource termios tty faulthandler gc site venv ensurepip pip distutils setuptools cmd \
    trace timeit profile cProfile mailbox netrc getpass pwd spwd crypt keyring nis psutil sh plumbum pexpect invoke winreg mmap \
    builtins __builtin__ types sched dbm boto3 docker kubernetes";

/// Names of `os` that only look.
const OS_LOOKS: &str = "path getcwd listdir walk scandir stat sep linesep name environ getenv cpu_count getpid getuid curdir pardir extsep \
    fspath access R_OK W_OK X_OK F_OK uname get_terminal_size PathLike DirEntry stat_result devnull lstat isatty getlogin getppid \
    times getloadavg error fsencode fsdecode pathsep supports_follow_symlinks sched_getaffinity";

fn is_doubted_python(code: &str) -> bool {
    static IMPORTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\bfrom\s+([\w.]+)\s+import\s+([\w*, ()]+)|\bimport\s+([\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)").ok()
    });
    static OS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bos\s*\.\s*(\w+)").ok());
    static DUNDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"__(\w+?)__").ok());
    let (Some(imports), Some(os), Some(dunder)) = (IMPORTS.as_ref(), OS.as_ref(), DUNDER.as_ref()) else {
        return true;
    };
    let lists = |list: &str, name: &str| list.split_whitespace().any(|own| own == name);
    let root =
        |module: &str| lists(DOUBTED_MODULES, module.trim().split(['.', ' ']).next().unwrap_or_default());
    for found in imports.captures_iter(code) {
        if let (Some(module), Some(names)) = (found.get(1), found.get(2)) {
            let own = module.as_str() == "os"
                && names
                    .as_str()
                    .split([',', '(', ')'])
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .any(|name| !lists(OS_LOOKS, name.split_whitespace().next().unwrap_or_default()));
            if own || root(module.as_str()) {
                return true;
            }
        }
        if found.get(3).is_some_and(|modules| modules.as_str().split(',').any(root)) {
            return true;
        }
    }
    let acts = |found: regex::Captures<'_>| found.get(1).is_some_and(|name| !lists(OS_LOOKS, name.as_str()));
    let hidden = |found: regex::Captures<'_>| {
        found.get(1).is_some_and(|name| !words::PYTHON_DUNDERS.matches(name.as_str()))
            || code.contains("__class__.")
            || code.contains("__init__.__")
    };
    os.captures_iter(code).any(acts) || dunder.captures_iter(code).any(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_finds_its_examples() {
        for language in LANGUAGES {
            assert!(Regex::new(language.doubted).is_ok(), "{:?}", language.names);
            for code in language.matching {
                assert!(is_doubted(language.names[0], code), "{}: {code}", language.names[0]);
            }
            for code in language.harmless {
                assert!(!is_doubted(language.names[0], code), "{}: {code}", language.names[0]);
            }
        }
        assert!(is_doubted("unheard-of", "1"));
    }

    #[test]
    fn s4_python_is_doubted_by_what_it_imports_and_names() {
        for code in [
            "import subprocess",
            "import json, pty",
            "from os import system",
            "from os import *",
            "import os; os.kill(1, 9)",
            "os.setsid()",
            "().__class__.__bases__",
            "__builtins__.__dict__['x']",
            "import pickle; pickle.load(f)",
            "from multiprocessing import Process",
            "import importlib.util",
        ] {
            assert!(is_doubted("python", code), "{code}");
        }
        for code in [
            "import json, sys; print(json.load(sys.stdin)['a'])",
            "from os import path; print(path.join('a', 'b'))",
            "import numpy as np",
            "import mypackage; print(mypackage.__version__)",
            "import os; print(os.path.exists('a'))",
            "print('import of goods')",
            "import re; print(re.findall(r'\\d+', open('a').read()))",
            "import tomllib; print(tomllib.load(open('Cargo.toml', 'rb')))",
        ] {
            assert!(!is_doubted("python", code), "{code}");
        }
    }
}
