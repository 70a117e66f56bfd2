"""Judges with the real Python client whether the simulator behaves like the Hub.

Reads what to expect from a JSON file: the endpoint, the tokens, and for each repo the files with size and SHA-256.
Every check prints its name; the first that fails ends the run with a traceback.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

CASES = json.loads(Path(sys.argv[1]).read_text())
HOME = tempfile.mkdtemp(prefix="judge-")
os.environ.update(
    HF_HOME=HOME,
    HF_ENDPOINT=CASES["endpoint"],
    HF_HUB_DISABLE_TELEMETRY="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    HF_XET_TELEMETRY_ENABLED="0",
)
for name in ("HF_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN"):
    os.environ.pop(name, None)

from huggingface_hub import HfApi, HfFileSystem, hf_hub_download, snapshot_download  # noqa: E402
from huggingface_hub.errors import (  # noqa: E402
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

OWNER, READER = CASES["owner_token"], CASES["reader_token"]
REPO, FILES, PULL_FILES = CASES["repo"], CASES["files"], CASES["pull_files"]
API = HfApi(token=False)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def raises(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{call.__name__}{args}{kwargs} raised no {kind.__name__}")


def one_file_downloads():
    for path, facts in FILES.items():
        local = hf_hub_download(REPO, path, token=False)
        assert sha256(local) == facts["sha256"], path


def snapshots_equal_the_description():
    root = Path(snapshot_download(REPO, cache_dir=tempfile.mkdtemp(dir=HOME), token=False))
    found = {str(path.relative_to(root)): sha256(path) for path in root.rglob("*") if path.is_file()}
    assert found == {path: facts["sha256"] for path, facts in FILES.items()}


def plain_http_reads_the_same():
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_XET = True
    try:
        one = tempfile.mkdtemp(dir=HOME)
        for path, facts in FILES.items():
            local = hf_hub_download(REPO, path, cache_dir=one, token=False)
            assert sha256(local) == facts["sha256"], path
    finally:
        constants.HF_HUB_DISABLE_XET = False


def pull_requests_read_by_their_ref():
    for path, facts in PULL_FILES.items():
        local = hf_hub_download(REPO, path, revision="refs/pr/1", token=False)
        assert sha256(local) == facts["sha256"], path
    refs = API.list_repo_refs(REPO, include_pull_requests=True)
    assert [ref.ref for ref in refs.pull_requests] == ["refs/pr/1"]
    assert [ref.name for ref in refs.tags] == ["v1"]
    assert {ref.name for ref in refs.branches} == {"main", "dev"}


def trees_have_every_file():
    entries = {entry.path: entry for entry in API.list_repo_tree(REPO, recursive=True, expand=True)}
    files = {path: entry for path, entry in entries.items() if hasattr(entry, "size")}
    assert set(files) == set(FILES)
    for path, facts in FILES.items():
        entry = files[path]
        assert entry.size == facts["size"], path
        assert entry.last_commit.title, path
        assert (entry.lfs.sha256 if entry.lfs else None) == (facts["sha256"] if facts["large"] else None), path
        assert (entry.xet_hash is not None) == facts["xet"], path
    top = list(API.list_repo_tree(REPO))
    assert {entry.path for entry in top} == {path.split("/")[0] for path in FILES}
    many = list(API.list_repo_tree(CASES["many"], repo_type="dataset", recursive=True))
    assert len([entry for entry in many if hasattr(entry, "size")]) == CASES["many_count"]


def paths_are_looked_up():
    wanted = list(FILES)[:3]
    assert {entry.path for entry in API.get_paths_info(REPO, wanted + ["absent"])} == set(wanted)


def infos_are_complete():
    info = API.model_info(REPO, files_metadata=True)
    assert info.id == REPO and len(info.sha) == 40 and not info.private and info.gated is False
    assert {sibling.rfilename: sibling.size for sibling in info.siblings} == {
        path: facts["size"] for path, facts in FILES.items()
    }
    assert info.last_modified.year == 2026
    assert API.model_info(REPO, expand=["usedStorage"]).used_storage > 0
    commits = API.list_repo_commits(REPO)
    assert commits[0].commit_id == info.sha and len(commits) >= 2
    assert API.model_info(REPO, revision=commits[-1].commit_id).sha == commits[-1].commit_id


def file_system_reads_anywhere():
    fs = HfFileSystem(token=False, endpoint=CASES["endpoint"])
    for path, facts in FILES.items():
        if any(char in path for char in "@?*[]"):
            continue
        with fs.open(f"{REPO}/{path}", "rb") as file:
            start = facts["size"] // 2
            file.seek(start)
            part = file.read(1000)
        whole = Path(hf_hub_download(REPO, path, token=False)).read_bytes()
        assert part == whole[start : start + 1000], path
    assert fs.isdir(f"{REPO}/deep") and not fs.exists(f"{REPO}/absent")


def refusals_are_the_hubs():
    raises(RepositoryNotFoundError, API.model_info, "nobody/nothing")
    raises(RepositoryNotFoundError, API.model_info, CASES["private"])
    raises(RepositoryNotFoundError, API.model_info, CASES["private"], token=READER)
    assert API.model_info(CASES["private"], token=OWNER).private
    raises(RevisionNotFoundError, API.model_info, REPO, revision="nowhere")
    raises(EntryNotFoundError, hf_hub_download, REPO, "absent", token=False)
    for token in (False, READER):
        raises(GatedRepoError, hf_hub_download, CASES["gated"], "a.bin", token=token)
    assert API.model_info(CASES["gated"]).gated == "auto"
    hf_hub_download(CASES["gated"], "a.bin", token=OWNER)
    bad = raises(HfHubHTTPError, API.model_info, REPO, token="hf_nobody")
    assert not isinstance(bad, RepositoryNotFoundError) and bad.response.status_code == 401
    assert API.whoami(token=READER)["name"] == "reader"


def renamed_repos_redirect():
    assert API.model_info(CASES["former"]).id == REPO
    path, facts = next(iter(FILES.items()))
    local = hf_hub_download(CASES["former"], path, token=False, cache_dir=tempfile.mkdtemp(dir=HOME))
    assert sha256(local) == facts["sha256"]


def searches_filter_and_sort():
    ids = [model.id for model in API.list_models(sort="downloads")]
    assert ids[0] == REPO and CASES["private"] not in ids
    assert CASES["private"] in [model.id for model in API.list_models(token=OWNER)]
    assert [model.id for model in API.list_models(gated=True)] == [CASES["gated"]]
    assert [model.id for model in API.list_models(search="gat", author="org")] == [CASES["gated"]]
    assert len(list(API.list_models(limit=1))) == 1
    assert CASES["many"] in [dataset.id for dataset in API.list_datasets()]


def uploads_come_back():
    api = HfApi(token=OWNER)
    folder = Path(tempfile.mkdtemp(dir=HOME))
    (folder / "sub dir").mkdir()
    (folder / "notes.txt").write_text("hello\n")
    (folder / "sub dir" / "weights.safetensors").write_bytes(os.urandom(3_000_000))
    (folder / "sub dir" / "table.parquet").write_bytes(b"PAR1" + bytes(range(256)) * 4000)
    (folder / "empty.bin").write_bytes(b"")
    api.create_repo("org/new", exist_ok=True)
    api.create_repo("org/new", exist_ok=True)
    api.upload_folder(repo_id="org/new", folder_path=folder, commit_message="Upload")
    root = Path(snapshot_download("org/new", token=OWNER))
    for path in folder.rglob("*"):
        if path.is_file():
            assert (root / path.relative_to(folder)).read_bytes() == path.read_bytes(), path
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_XET = True
    plain = Path(snapshot_download("org/new", token=OWNER, cache_dir=tempfile.mkdtemp(dir=HOME)))
    constants.HF_HUB_DISABLE_XET = False
    weights = Path("sub dir") / "weights.safetensors"
    assert (plain / weights).read_bytes() == (folder / weights).read_bytes()
    pull = api.upload_file(
        repo_id="org/new", path_or_fileobj=b"more\n", path_in_repo="more.txt", create_pr=True, commit_message="More"
    )
    assert pull.pr_num == 1
    assert Path(hf_hub_download("org/new", "more.txt", revision="refs/pr/1", token=OWNER)).read_text() == "more\n"
    api.delete_file("notes.txt", repo_id="org/new")
    assert "notes.txt" not in api.list_repo_files("org/new")
    api.create_branch("org/new", branch="side")
    api.create_tag("org/new", tag="v1")
    assert [ref.name for ref in api.list_repo_refs("org/new").tags] == ["v1"]
    raises(HfHubHTTPError, HfApi(token=READER).upload_file, repo_id="org/new", path_or_fileobj=b"x", path_in_repo="x")
    api.delete_repo("org/new")
    raises(RepositoryNotFoundError, api.model_info, "org/new")


CHECKS = [
    one_file_downloads,
    snapshots_equal_the_description,
    plain_http_reads_the_same,
    pull_requests_read_by_their_ref,
    trees_have_every_file,
    paths_are_looked_up,
    infos_are_complete,
    file_system_reads_anywhere,
    refusals_are_the_hubs,
    renamed_repos_redirect,
    searches_filter_and_sort,
    uploads_come_back,
]

if __name__ == "__main__":
    only = sys.argv[2:]
    failed = []
    for check in CHECKS:
        if only and check.__name__ not in only:
            continue
        try:
            check()
            print(f"ok     {check.__name__}", flush=True)
        except Exception:
            import traceback

            failed.append(check.__name__)
            print(f"FAILED {check.__name__}\n{traceback.format_exc()}", flush=True)
    sys.exit(1 if failed else 0)
