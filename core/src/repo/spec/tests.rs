use super::*;

const ENDPOINT: &str = "http://hub.test:8080/mirror";

fn parse(input: &str) -> Result<RepoSpec> {
    RepoSpec::parse(input, &Url::parse(ENDPOINT).unwrap())
}

/// `expected` is `repo`, `repo|revision` or `repo|revision|path`; an empty revision means none.
fn check(input: &str, expected: &str) {
    let spec = parse(input).unwrap_or_else(|error| panic!("{input:?}: {error} {}", error.advice()));
    let mut parts = expected.split('|').map(str::to_owned);
    let repo = parts.next().unwrap();
    let some = |part: Option<String>| part.filter(|part| !part.is_empty());
    assert_eq!(
        (spec.repo.to_string(), spec.revision, spec.path),
        (repo, some(parts.next()), some(parts.next())),
        "{input:?}"
    );
}

fn refuse(input: &str, reason: &str) {
    let error = parse(input).expect_err(input);
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{input:?}");
    assert!(error.advice().contains(reason), "{input:?}: {}", error.advice());
}

const SHA: &str = "607a30d783dfa663caf39e06633721c8d4cfcd7e";

#[test]
fn what_people_type_is_understood() {
    for (input, expected) in [
        ("org/name", "org/name"),
        ("  org/name \n", "org/name"),
        ("org/name/", "org/name"),
        ("gpt2", "gpt2"),
        ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B"),
        ("a_b/c_d", "a_b/c_d"),
        ("_org/_name_", "_org/_name_"),
        ("models/org/name", "org/name"),
        ("datasets/org/name", "datasets/org/name"),
        ("datasets/squad", "datasets/squad"),
        ("spaces/org/name", "spaces/org/name"),
        ("org/name@v1.0", "org/name|v1.0"),
        ("gpt2@main", "gpt2|main"),
        ("datasets/org/name@refs/pr/2", "datasets/org/name|refs/pr/2"),
        ("org/name@refs%2Fpr%2F2", "org/name|refs/pr/2"),
        ("org/name@feature/x", "org/name|feature/x"),
        (&format!("org/name@{SHA}"), &format!("org/name|{SHA}")),
    ] {
        check(input, expected);
    }
}

#[test]
fn hf_paths_are_understood() {
    for (input, expected) in [
        ("hf://org/name", "org/name"),
        ("HF://org/name", "org/name"),
        ("hf://gpt2", "gpt2"),
        ("hf://gpt2/", "gpt2"),
        ("hf://org/name/", "org/name"),
        ("hf://org/name/a/b.txt", "org/name||a/b.txt"),
        ("hf://org/name@v1/a/b.txt", "org/name|v1|a/b.txt"),
        ("hf://gpt2@v1/a.txt", "gpt2|v1|a.txt"),
        ("hf://org/name@refs/pr/2/a.txt", "org/name|refs/pr/2|a.txt"),
        ("hf://org/name@refs%2Fpr%2F2/a.txt", "org/name|refs/pr/2|a.txt"),
        ("hf://org/name@feature%2Fx/dir/", "org/name|feature/x|dir"),
        (
            "hf://datasets/org/name@refs/convert/parquet/default/train/0.parquet",
            "datasets/org/name|refs/convert/parquet|default/train/0.parquet",
        ),
        ("hf://spaces/org/name/app.py", "spaces/org/name||app.py"),
        ("hf://models/org/name/x", "org/name||x"),
        ("hf://org/name/100%25 #1?.txt", "org/name||100%25 #1?.txt"),
        ("hf://org/name/mail@home.txt", "org/name||mail@home.txt"),
    ] {
        check(input, expected);
    }
}

#[test]
fn links_are_understood() {
    for (input, expected) in [
        ("https://huggingface.co/org/name", "org/name"),
        ("https://huggingface.co/org/name/", "org/name"),
        ("HTTPS://HuggingFace.co/org/name", "org/name"),
        ("http://huggingface.co/org/name", "org/name"),
        ("https://www.huggingface.co/org/name", "org/name"),
        ("https://hf.co/org/name", "org/name"),
        ("huggingface.co/org/name", "org/name"),
        ("hf.co/datasets/org/name/tree/main/data", "datasets/org/name|main|data"),
        ("https://huggingface.co/gpt2", "gpt2"),
        ("https://huggingface.co/gpt2/tree/main", "gpt2|main"),
        ("https://huggingface.co/gpt2/blob/main/config.json", "gpt2|main|config.json"),
        ("https://huggingface.co/org/tree", "org/tree"),
        ("https://huggingface.co/org/tree/tree/main", "org/tree|main"),
        ("https://huggingface.co/org/name.git", "org/name"),
        ("https://user:hf_abcdefghijklmnopqrstuvwx@huggingface.co/org/name", "org/name"),
        ("https://huggingface.co/org/name?library=x#model-card", "org/name"),
        ("https://huggingface.co/org/name/tree/main", "org/name|main"),
        ("https://huggingface.co/org/name/tree/v1.0/a/b", "org/name|v1.0|a/b"),
        ("https://huggingface.co/org/name/tree/refs%2Fpr%2F2", "org/name|refs/pr/2"),
        ("https://huggingface.co/org/name/tree/refs/pr/2/a", "org/name|refs/pr/2|a"),
        ("https://huggingface.co/org/name/blob/feature%2Fx/a.txt", "org/name|feature/x|a.txt"),
        ("https://huggingface.co/org/name/blob/main/a%20b%23c%3Fd.txt?x=1#L3", "org/name|main|a b#c?d.txt"),
        ("https://huggingface.co/org/name/resolve/main/100%2525.txt?download=true", "org/name|main|100%25.txt"),
        ("https://huggingface.co/org/name/raw/main/README.md", "org/name|main|README.md"),
        ("https://huggingface.co/org/name/blame/main/README.md", "org/name|main|README.md"),
        (&format!("https://huggingface.co/org/name/commit/{SHA}"), &format!("org/name|{SHA}")),
        ("https://huggingface.co/org/name/commits/main", "org/name|main"),
        ("https://huggingface.co/org/name/discussions/3", "org/name"),
        ("https://huggingface.co/org/name/discussions", "org/name"),
        ("https://huggingface.co/org/name/tree", "org/name"),
        ("https://huggingface.co/datasets/squad", "datasets/squad"),
        ("https://huggingface.co/datasets/org/name/viewer/default/train", "datasets/org/name"),
        ("https://huggingface.co/spaces/org/name/blob/main/app.py", "spaces/org/name|main|app.py"),
        ("https://huggingface.co/api/models/org/name/tree/main/sub", "org/name|main|sub"),
        ("https://huggingface.co/api/datasets/org/name/revision/v2", "datasets/org/name|v2"),
        ("http://hub.test:8080/mirror/org/name/tree/main/a", "org/name|main|a"),
        ("http://hub.test:8080/org/name", "org/name"),
        ("git@hf.co:org/name", "org/name"),
        ("git@hf.co:datasets/org/name.git", "datasets/org/name"),
        ("https://huggingface.co/org/name/tree/main/é/日本.txt", "org/name|main|é/日本.txt"),
    ] {
        check(input, expected);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_reason() {
    let long = "x".repeat(97);
    for (input, reason) in [
        ("", "missing"),
        ("   ", "missing"),
        ("/", "missing"),
        ("/name", "empty"),
        ("org//name", "two parts"),
        ("org/name/dir", "hf://org/name/folder"),
        ("org/na me", "letters, digits"),
        ("org/näme", "letters, digits"),
        ("org/name!", "letters, digits"),
        ("-org/name", "start or end"),
        ("org/.name", "start or end"),
        ("org/name.", "start or end"),
        ("org/na--me", "--"),
        ("org/na..me", ".."),
        ("../name", "start or end"),
        ("org/name.git", ".git"),
        (&long, "96"),
        ("org/name@", "revision is missing"),
        ("org/name@a b", "revision cannot contain"),
        ("org/name@a..b", "revision cannot contain"),
        ("org/name@HEAD~1", "revision cannot contain"),
        ("org/name@/x", "cannot be the name"),
        ("org/name@x.lock", "cannot be the name"),
        ("org/name@-x", "cannot be the name"),
        (&format!("org/name@{}", "r".repeat(256)), "255"),
        ("spaces/name", "spaces/org/name"),
        ("hf://", "missing"),
        ("hf://org/name/../x", "'..'"),
        ("hf://org/name/a//b", "empty parts"),
        ("hf://org/name@main/\0", "NUL"),
        ("hf://org/name@main/./x", "'.'"),
        ("ftp://huggingface.co/org/name", "Only links"),
        ("s3://bucket/key", "Only links"),
        ("https://example.org/org/name", "not one of the Hub"),
        ("https://huggingface.co.evil.test/org/name", "not one of the Hub"),
        ("http://hub.test:9999/org/name", "not one of the Hub"),
        ("https://", "well-formed"),
        ("https://huggingface.co", "names no repo"),
        ("https://huggingface.co/datasets", "names no repo"),
        ("https://huggingface.co/docs/hub/index", "not a repo"),
        ("https://huggingface.co/models", "not a repo"),
        ("https://huggingface.co/api/whoami-v2", "not a repo"),
        ("https://huggingface.co/org/name/wrong/main", "names no file"),
        ("https://huggingface.co/org/name/tree/%ff", "UTF-8"),
        ("https://huggingface.co/org/name/tree/main/a%2F..%2Fb", "'..'"),
    ] {
        refuse(input, reason);
    }
    refuse(&"x".repeat(INPUT_BYTES_MAX + 1), "too long");
}

#[test]
fn an_error_never_repeats_a_token_that_was_pasted() {
    for input in [
        "https://user:hf_abcdefghijklmnopqrstuvwx@example.org/org/name",
        "ftp://hf_abcdefghijklmnopqrstuvwx@huggingface.co/x",
        "org/name hf_abcdefghijklmnopqrstuvwx",
        "hf_abcdefghijklmnopqrstuvwx!",
        "https://x@y:secretsecret@example.org/",
    ] {
        let shown = format!("{:?}", parse(input).unwrap_err());
        assert!(!shown.contains("abcdefghij") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn random_input_never_panics_and_what_is_accepted_is_read_again_the_same() {
    const PIECES: [&str; 30] = [
        "hf://",
        "https://",
        "huggingface.co",
        "hf.co",
        "hub.test:8080",
        "/",
        "@",
        "%2F",
        "%",
        "..",
        ".",
        "-",
        "--",
        "org",
        "name",
        "tree",
        "blob",
        "main",
        "refs",
        "pr",
        "2",
        "datasets",
        "spaces",
        "é",
        "\0",
        " ",
        "?",
        "#",
        ":",
        "hf_",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let input: String = (0..next(12)).map(|_| PIECES[next(PIECES.len())]).collect();
        let Ok(spec) = parse(&input) else { continue };
        accepted += 1;
        let revision = spec.revision.as_deref().map(|r| format!("@{}", r.replace('%', "%25").replace('/', "%2F")));
        let path = spec.path.as_deref().map(|path| format!("/{path}"));
        let again = format!("hf://{}{}{}", spec.repo, revision.unwrap_or_default(), path.clone().unwrap_or_default());
        if spec.repo.name.contains('/') || path.is_none() || spec.revision.is_some() {
            assert_eq!(parse(&again).unwrap(), spec, "{input:?} → {again:?}");
        }
    }
    assert!(accepted > 100, "{accepted}");
}
