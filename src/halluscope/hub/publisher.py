"""Publishes on the Hub: a `Publication` and what the Hub holds give a `Plan`, which is shown, and then carried out.

Every failure becomes a `HubError` that says what was being done. The token is read from where `huggingface_hub` keeps
it (HF_TOKEN, or `hf auth login`), and appears in no message.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    EvalResultEntry,
    HfApi,
    get_token,
    parse_eval_result_entries,
)
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash

from halluscope.errors import HubError
from halluscope.files.opening import read_bytes
from halluscope.sanitize import one_line

CARD = "README.md"
EVAL = "eval.yaml"
PROSE = {CARD, EVAL}  # the files that may change without a new version, as they are no data
OWN = ".gitattributes"  # the Hub adds it to a repository
RESULTS = ".eval_results"  # the folder of a model's results
LARGEST = 100_000  # bytes of a file of results that is read

# What happens to a file
NEW = "new"
CHANGED = "changed"
SAME = "same"
DELETED = "deleted"


@dataclass(frozen=True)
class Release:
    """A version of a whole repository, which is published once: the data under its tag never change."""

    version: str
    tag: str
    file: str  # the file that shows that a repository is ours, and in which version
    states: str  # the pattern of its lines that state the version

    def obstacle(
        self, version: str | None, main: Collection[str], added: Collection[str], is_tagged: bool
    ) -> str:
        """Say why main, which holds other data, is neither replaced nor restored; "" if it is.

        Args:
            version: what main's files say.
            main: the paths of its files.
            added: those that the release does not have.
            is_tagged: whether the tag is there.
        """
        if version is None:
            data = set(main) - PROSE
            if not data:
                return ""
            return (
                f"{min(data)!r}, but no {self.file} of ours that says its version: somebody else changed main, and "
                "halluscope leaves it alone. Delete that file on the Hub, or publish under another organization."
            )
        if self.is_before(version):
            return (
                f"version {one_line(version, 40)}, later than {self.version}. Publish from a newer checkout."
            )
        if version == self.version and not is_tagged:
            return (
                f"version {version} with other data, without the tag {self.tag}: an upload was interrupted, and the "
                "data have changed since. Give the changed data a new version."
            )
        if version == self.version and added:
            return (
                f"{min(added)!r}, which is not in version {version} (tag {self.tag}): somebody added it to main, and "
                "halluscope leaves it alone. Delete it on the Hub, then repeat the same command."
            )
        return ""

    def is_before(self, version: str | None) -> bool:
        return _numbers(self.version) < _numbers(version)


def _numbers(version: str | None) -> list[int]:
    return [int(part) for part in re.findall("[0-9]{1,18}", version or "")]


@dataclass(frozen=True)
class Publication:
    """What a repository on the Hub shall hold."""

    kind: Literal["dataset", "space", "model"]
    repo_id: str  # "org/name"
    message: str  # of the commit
    files: Mapping[str, Path | bytes]  # by their paths in the repository
    release: Release | None = None  # None adds the files to whatever the repository holds
    sdk: str | None = None  # of a Space
    proposed: bool = False  # whether it goes to somebody else's repository, as a pull request
    notes: tuple[str, ...] = ()  # what the user who publishes should know

    @cached_property
    def uploads(self) -> dict[str, CommitOperationAdd]:
        return {path: CommitOperationAdd(path, content) for path, content in self.files.items()}

    @property
    def where(self) -> dict[str, Any]:
        return {"repo_id": self.repo_id, "repo_type": self.kind}

    @property
    def name(self) -> str:
        return f"{self.kind} {self.repo_id}"

    def __str__(self) -> str:
        if self.release is None:
            return self.name
        return f"{self.name} {self.release.version}"

    def changes(self, remote: Mapping[str, RepoFile]) -> dict[str, str]:
        """Return what happens to each file of a repository; without a release, other files stay."""
        changes = {}
        for path, upload in self.uploads.items():
            if path not in remote:
                changes[path] = NEW
            elif _is_same(upload, remote[path]):
                changes[path] = SAME
            else:
                changes[path] = CHANGED
        if self.release:
            for path in remote:
                changes.setdefault(path, DELETED)
        return changes


def _is_same(upload: CommitOperationAdd, remote: RepoFile) -> bool:
    """Whether the Hub holds a file with the same content."""
    if remote.size != upload.upload_info.size:
        return False
    if remote.lfs:
        return bool(remote.lfs.sha256 == upload.upload_info.sha256.hex())
    with upload.as_file() as file:
        return bool(remote.blob_id == git_hash(file.read()))


@dataclass(frozen=True)
class Plan:
    """What publishing would change on the Hub."""

    publication: Publication
    changes: Mapping[str, str]
    tag: str  # the tag to set; "" for none
    private: bool  # whether the repository is private, or will be
    head: str | None = None  # the commit of main; None if the Hub has no such repository

    @property
    def idle(self) -> bool:
        return not self.tag and all(change == SAME for change in self.changes.values())

    def __str__(self) -> str:
        """Say what would happen, and list each file with its size."""
        publication = self.publication
        version = f", version {publication.release.version}" if publication.release else ""
        sizes = {path: upload.upload_info.size for path, upload in publication.uploads.items()}
        lines = [f"{publication.name}{version}: {self._summary(sizes)}"]
        for path, change in sorted(self.changes.items()):
            size = _bytes(sizes[path]) if path in sizes else ""
            lines.append(f"  {change:8} {size:>9}  {one_line(path)}")
        for note in publication.notes:
            lines.append(f"  note: {note}")
        return "\n".join(lines)

    def _summary(self, sizes: Mapping[str, int]) -> str:
        if self.idle:
            return "it is there already; nothing to do"
        parts = []
        sent = [sizes[path] for path, change in self.changes.items() if change in (NEW, CHANGED)]
        if sent:
            plural = "s" if len(sent) > 1 else ""
            parts.append(f"{len(sent)} file{plural} ({_bytes(sum(sent))}) {self._destination()}")
        deleted = list(self.changes.values()).count(DELETED)
        if deleted:
            verb = "are" if deleted > 1 else "is"
            parts.append(f"{deleted} {verb} deleted")
        release = self.publication.release
        if release:
            fate = "is set" if self.tag else "stays where it is"
            parts.append(f"tag {release.tag} {fate}")
        return ", ".join(parts)

    def _destination(self) -> str:
        """Say where the files go. A model's repository is never made here, and may be somebody else's."""
        access = "private" if self.private else "public"
        if self.publication.proposed:
            return f"as a pull request to the {access} repository of {self.publication.repo_id}, which is not yours"
        if self.head:
            return f"go to the {access} repository that is there"
        if self.publication.kind == "model":
            return (
                "go to the repository that the model has on the Hub: as a commit if the model is yours, "
                "as a pull request if it is somebody else's"
            )
        return f"go to a new {access} repository"


def _bytes(count: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def new_repository(publication: Publication, public: bool) -> Plan:
    """Return the plan for a repository that the Hub does not have yet."""
    tag = publication.release.tag if publication.release else ""
    return Plan(publication, dict.fromkeys(publication.files, NEW), tag, not public)


@dataclass(frozen=True)
class Repository:
    """What the Hub holds under the name of a publication."""

    head: str  # the commit of main
    private: bool
    main: Mapping[str, RepoFile]  # its files by their paths
    version: str | None  # of a release, as main states it
    tagged: Mapping[str, RepoFile] | None  # the files under the tag of the release; None without that tag


@dataclass(frozen=True)
class ModelResult:
    """An entry among a model's results."""

    where: str  # main, or an open pull request
    file: str
    entry: EvalResultEntry


class Hub:
    """The Hub, with the user's token."""

    def __init__(self, organization: str = "") -> None:
        """Log in, and check that the user may publish under the organization, if one is named."""
        token = get_token() or ""
        if not token:
            raise HubError(
                "There is no token for the Hub. Log in with `hf auth login`, or set HF_TOKEN to a token that may write "
                "(https://huggingface.co/settings/tokens)."
            )
        if not (token.isascii() and token.isprintable()):
            raise HubError(
                "The token has characters that no token can have. Copy it again, into HF_TOKEN or with `hf auth login`."
            )
        self._api = HfApi(token=token)
        with calling("asking who you are"):
            user: Any = self._api.whoami()
            self.names = [str(user["name"])]  # the user may publish under these
            for membership in user.get("orgs", ()):
                self.names.append(str(membership["name"]))
        if organization and organization not in self.names:
            names = ", ".join(one_line(name) for name in self.names)
            raise HubError(
                f"The token belongs to {one_line(self.names[0])}, who cannot publish as {organization!r:.80}; expected "
                f"one of {names}. Join the organization, or give the token write access to it."
            )

    def plan(self, publication: Publication, public: bool = False) -> Plan:
        """Compare a publication with what the Hub holds.

        The card on main may change without a new version. If an upload was killed, or somebody removed files from main,
        the missing files are added. `public` makes a new repository public, and lets an existing one be public.
        """
        with calling(f"looking for {publication.repo_id}"):
            repository = self._look_up(publication)
        if repository is None:
            return new_repository(publication, public)
        changes = publication.changes(repository.main)
        tag = ""
        release = publication.release
        if release:
            went_on = False  # whether main went on to a later version
            if repository.tagged is None:
                tag = release.tag
            else:
                _check_tagged(publication, release, repository.tagged)
                went_on = release.is_before(repository.version)
            if _data(changes) and went_on:
                changes = {}
            elif _data(changes):
                _check_main(publication, release, repository, changes)
        plan = Plan(publication, changes, tag, repository.private, repository.head)
        if not (plan.private or public or plan.idle or publication.kind == "model"):
            raise HubError(
                f"{publication.repo_id} is public: everyone sees at once what is sent there. Pass --public if you mean "
                "that."
            )
        return plan

    def _look_up(self, publication: Publication) -> Repository | None:
        """Return what the Hub holds, or None if it has no such repository; a repository of another kind is refused."""
        kind = publication.kind
        if kind != "model" and self._api.repo_exists(publication.repo_id, repo_type="model"):
            raise HubError(
                f"{publication.repo_id} is a model on the Hub; a {kind} of the same name would look as if it belonged "
                "to the model. Publish under another organization, or rename the model."
            )
        try:
            info: Any = self._api.repo_info(**publication.where)
        except RepositoryNotFoundError:
            return None
        if publication.sdk and info.sdk not in (None, publication.sdk):
            raise HubError(
                f"{publication.repo_id} is a Space of another kind ({one_line(info.sdk, 40)}); expected a "
                f"{publication.sdk} Space or a new name."
            )
        main = self._files(publication, info.sha)
        version = None
        tagged = None
        release = publication.release
        if release:
            if release.file in main:
                version = self._stated_version(publication, release, info.sha)
            refs = self._api.list_repo_refs(**publication.where)
            if release.tag in [tag.name for tag in refs.tags]:
                tagged = self._files(publication, release.tag)
        return Repository(info.sha, bool(info.private), main, version, tagged)

    def _files(self, publication: Publication, revision: str) -> dict[str, RepoFile]:
        tree = self._api.list_repo_tree(**publication.where, recursive=True, revision=revision)
        return {file.path: file for file in tree if isinstance(file, RepoFile) and file.path != OWN}

    def _stated_version(self, publication: Publication, release: Release, revision: str) -> str | None:
        file = self._api.hf_hub_download(filename=release.file, revision=revision, **publication.where)
        text = read_bytes(Path(file), "reply").decode("utf-8", "replace")
        stated = re.search(f"^{release.states}$", text, re.MULTILINE)
        if stated is None:
            return None
        return stated[1]

    def publish(self, plan: Plan) -> str:
        """Carry out a plan, and say in a line what was done; an error says what is on the Hub now.

        If it is killed or fails at any point, plan and publish again: what is missing is then sent and tagged.
        """
        publication = plan.publication
        head = plan.head
        if plan.idle:
            return f"{publication}: there already; nothing was changed"
        done = "Nothing is published."
        try:
            if head is None:
                with calling(f"creating {publication.name}"):
                    self._api.create_repo(
                        **publication.where, private=plan.private, space_sdk=publication.sdk
                    )
                done = "The repository is there, but without files."
            operations = _operations(plan)
            if operations:
                with calling(f"uploading to {publication.name}"):
                    commit = self._api.create_commit(
                        **publication.where,
                        operations=operations,
                        commit_message=publication.message,
                        parent_commit=head,  # a commit of somebody else's is not overwritten
                        create_pr=publication.proposed,
                    )
                if publication.proposed:
                    return f"{publication}: proposed, {one_line(commit.pr_url, 200)}"
                head = commit.oid
                done = "The files are there, but not the tag."
            if plan.tag:
                with calling(f"tagging {publication.name} as {plan.tag}"):
                    self._api.create_tag(**publication.where, tag=plan.tag, revision=head)
            done = "Files and tag are there, but could not be compared."
            if not self.plan(publication, public=True).idle:
                raise HubError("What the Hub shows now is not what was sent. Repeat the same command.")
        except HubError as error:
            raise HubError(f"{publication}: {done} {error}") from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{publication}: {done} The step that was under way may be done too. Run the same command to go on."
            ) from None
        if plan.tag:
            return f"{publication}: published, tag {plan.tag}"
        if publication.release:
            return f"{publication}: published; its tag stays where it is"
        return f"{publication}: published"

    def revision(self, repo_id: str, tag: str) -> str:
        """Return the commit of a dataset behind a tag, or of main if its repository has no tags."""
        with calling(f"looking for {repo_id}"):
            try:
                refs = self._api.list_repo_refs(repo_id, repo_type="dataset")
            except RepositoryNotFoundError:
                raise HubError(
                    f"There is no dataset {repo_id!r:.80} on the Hub; `halluscope publish dataset` or `publish "
                    "benchmark` makes one. Name it with --benchmark."
                ) from None
            commits = {ref.name: str(ref.target_commit) for ref in refs.tags}
            if not commits:
                branches = {ref.name: str(ref.target_commit) for ref in refs.branches}
                return branches["main"]
            if tag not in commits:
                raise HubError(
                    f"{repo_id} has no version with the tag {tag}; expected one of {', '.join(commits)}. Publish this "
                    "version, or score the dataset of that version."
                )
            return commits[tag]

    def results(self, repo_id: str) -> list[ModelResult]:
        """Return a model's results, on main and in open pull requests."""
        results = []
        with calling(f"reading the results of {repo_id}"):
            if not self._api.repo_exists(repo_id):
                raise HubError(
                    f"There is no model {repo_id!r:.80} on the Hub; expected its name there, as org/name."
                )
            revisions = {"main": "main"}
            requests = self._api.get_repo_discussions(
                repo_id, discussion_type="pull_request", discussion_status="open"
            )
            for request in requests:
                revisions[f"the open pull request {request.url}"] = f"refs/pr/{request.num}"
            for where, revision in revisions.items():
                for file in self._api.list_repo_tree(repo_id, recursive=True, revision=revision):
                    is_small = isinstance(file, RepoFile) and file.size < LARGEST
                    if is_small and file.path.startswith(f"{RESULTS}/"):
                        local = self._api.hf_hub_download(repo_id, file.path, revision=revision)
                        for entry in _entries(Path(local)):
                            results.append(ModelResult(where, file.path, entry))
        return results


def _check_tagged(publication: Publication, release: Release, tagged: Mapping[str, RepoFile]) -> None:
    """Refuse to publish a version a second time, with other data."""
    differing = _data(publication.changes(tagged))
    if not differing:
        return
    more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
    how = ", in its spec.toml, and build again" if publication.kind == "dataset" else ""
    raise HubError(
        f"{publication.repo_id} has a version {release.version} (tag {release.tag}) with other data: "
        f"{differing[0]} differs{more}. A version is published once. Give the changed data a new version{how}."
    )


def _check_main(
    publication: Publication, release: Release, repository: Repository, changes: Mapping[str, str]
) -> None:
    """Refuse to change main if it is somebody else's, or holds what no release of ours explains."""
    added = [path for path, change in changes.items() if change == DELETED]
    is_tagged = repository.tagged is not None
    obstacle = release.obstacle(repository.version, repository.main, added, is_tagged)
    if obstacle:
        raise HubError(f"{publication.name} holds {obstacle}")


def _data(changes: Mapping[str, str]) -> list[str]:
    """Return the files of data that change, sorted."""
    return sorted(path for path, change in changes.items() if change != SAME and path not in PROSE)


def _operations(plan: Plan) -> list[CommitOperationAdd | CommitOperationDelete]:
    """Return what a commit does, file by file."""
    operations: list[CommitOperationAdd | CommitOperationDelete] = []
    for path, change in plan.changes.items():
        if change == DELETED:
            operations.append(CommitOperationDelete(path, is_folder=False))
        elif change != SAME:
            operations.append(plan.publication.uploads[path])
    return operations


def _entries(file: Path) -> list[EvalResultEntry]:
    """Return the results in a file; none for a file that holds no results."""
    try:
        return list(parse_eval_result_entries(yaml.safe_load(read_bytes(file, "reply"))))
    except Exception:  # of yaml, or of the library
        return []


@contextmanager
def calling(doing: str) -> Iterator[None]:
    """Turn the library's errors (its own, httpx's, urllib3's, the system's) into one `HubError` without the token."""
    try:
        yield
    except HubError:
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        token = get_token()
        if token:
            message = message.replace(token, "[the token]")
        advice = ADVICE.get(_status(error), AGAIN)
        raise HubError(f"The Hub: {doing} failed. {advice} It said: {one_line(message):.500}") from None


def _status(error: Exception) -> int | None:
    """Return the status that the Hub answered with, or `ODD` for an answer that the library could not read."""
    if isinstance(error, TypeError | AttributeError | LookupError):
        return ODD
    for raised in (error, error.__cause__):
        response = getattr(raised, "response", None)
        if response is not None:
            return int(response.status_code)
    return None


AGAIN = "Repeat the same command when this is fixed; what is there already is not sent again."
MEANWHILE = "Someone else changed the repository meanwhile. Look at it, and repeat the same command."
ODD = 0
ADVICE: dict[int | None, str] = {
    ODD: "Its answer has not the form of the Hub's. Does HF_ENDPOINT name the Hub?",
    401: "The token is refused: it is unknown or has expired. Log in again with `hf auth login`, or correct HF_TOKEN.",
    402: "The Hub asks for payment: a gradio Space needs a paid plan (https://huggingface.co/pricing).",
    403: "The token does not allow this. Give it write access to this organization (https://huggingface.co/settings/tokens).",
    400: "It refuses a file. If that is eval.yaml, whose framework it may not know yet: `publish dataset --no-eval`.",
    409: MEANWHILE,
    412: MEANWHILE,
}


def check_all(items: Iterable[Any], check: Callable[[Any], Any]) -> list[Any]:
    """Return what a check makes of each item; one error names the problems of all."""
    checked = []
    problems = []
    for item in items:
        try:
            checked.append(check(item))
        except ValueError as error:
            problems.append(str(error))
    if len(problems) > 1:
        problems.insert(0, "nothing was published.")
    if problems:
        raise HubError("\n".join(problems))
    return checked
