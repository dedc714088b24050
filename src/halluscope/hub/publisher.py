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
from typing import Any, Literal, NamedTuple

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

CARD, EVAL = "README.md", "eval.yaml"
PROSE = {CARD, EVAL}  # the files that may change without a new version, as they are no data
OWN = ".gitattributes"  # the Hub adds it to a repository
RESULTS = ".eval_results"  # the folder of a model's results
LARGEST = 100_000  # bytes of a file of results that is read

NEW, CHANGED, SAME, DELETED = "new", "changed", "same", "deleted"  # what happens to a file


class Release(NamedTuple):
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
            data = min({*main} - PROSE, default="")
            return data and (
                f"{data!r}, but no {self.file} of ours that says its version: somebody else changed main, and "
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
        return self.name + (f" {self.release.version}" if self.release else "")

    def changes(self, remote: Mapping[str, RepoFile]) -> dict[str, str]:
        """Return what happens to each file of a repository; without a release, other files stay."""
        changes = {}
        for path, upload in self.uploads.items():
            held, same = remote.get(path), False
            if held and held.size == upload.upload_info.size:
                with upload.as_file() as file:
                    same = (
                        held.lfs.sha256 == upload.upload_info.sha256.hex()
                        if held.lfs
                        else held.blob_id == git_hash(file.read())
                    )
            changes[path] = SAME if same else CHANGED if held else NEW
        return changes | dict.fromkeys({*remote} - {*changes} if self.release else (), DELETED)


@dataclass(frozen=True)
class Plan:
    publication: Publication
    changes: Mapping[str, str]
    tag: str  # the tag to set; "" for none
    private: bool  # whether the repository is private, or will be
    head: str | None = None  # the commit of main; None if the Hub has no such repository

    @property
    def idle(self) -> bool:
        return not self.tag and {*self.changes.values()} <= {SAME}

    def __str__(self) -> str:
        """Say what would happen, and list each file with its size."""
        publication, release = self.publication, self.publication.release
        sizes = {path: upload.upload_info.size for path, upload in publication.uploads.items()}
        sent = [sizes[path] for path, change in self.changes.items() if change in (NEW, CHANGED)]
        parts = []
        if sent:
            parts.append(
                f"{len(sent)} file{'s' if len(sent) > 1 else ''} ({_bytes(sum(sent))}) {self._destination()}"
            )
        if deleted := [*self.changes.values()].count(DELETED):
            parts.append(f"{deleted} are deleted")
        if release:
            parts.append(f"tag {release.tag} {'is set' if self.tag else 'stays where it is'}")
        summary = "it is there already; nothing to do" if self.idle else ", ".join(parts)
        version = f", version {release.version}" if release else ""
        lines = [f"{publication.name}{version}: {summary}"]
        for path, change in sorted(self.changes.items()):
            lines.append(f"  {change:8} {_bytes(sizes[path]) if path in sizes else '':>9}  {one_line(path)}")
        return "\n".join([*lines, *(f"  note: {note}" for note in publication.notes)])

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
    tag = publication.release.tag if publication.release else ""
    return Plan(publication, dict.fromkeys(publication.files, NEW), tag, not public)


def _data(changes: Mapping[str, str]) -> list[str]:
    return sorted(path for path, change in changes.items() if change != SAME and path not in PROSE)


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
            me: Any = self._api.whoami()
            # the user may publish under these
            self.names = [str(one["name"]) for one in (me, *me.get("orgs", ()))]
        if organization and organization not in self.names:
            raise HubError(
                f"The token belongs to {one_line(self.names[0])}, who cannot publish as {organization!r:.80}; expected "
                f"one of {', '.join(map(one_line, self.names))}. Join the organization, or give the token write access "
                "to it."
            )

    def plan(self, publication: Publication, public: bool = False) -> Plan:
        """Compare a publication with what the Hub holds.

        The card on main may change without a new version. If an upload was killed, or somebody removed files from main,
        the missing files are added. `public` makes a new repository public, and lets an existing one be public.
        """
        api, where, release = self._api, publication.where, publication.release

        def files(revision: str) -> dict[str, RepoFile]:
            tree = api.list_repo_tree(**where, recursive=True, revision=revision)
            return {file.path: file for file in tree if isinstance(file, RepoFile) and file.path != OWN}

        with calling(f"looking for {publication.repo_id}"):
            if publication.kind != "model" and api.repo_exists(publication.repo_id, repo_type="model"):
                raise HubError(
                    f"{publication.repo_id} is a model on the Hub; a {publication.kind} of the same name would look "
                    "as if it belonged to the model. Publish under another organization, or rename the model."
                )
            try:
                info: Any = api.repo_info(**where)
            except RepositoryNotFoundError:
                return new_repository(publication, public)
            if publication.sdk and info.sdk not in (None, publication.sdk):
                raise HubError(
                    f"{publication.repo_id} is a Space of another kind ({one_line(info.sdk, 40)}); expected a "
                    f"{publication.sdk} Space or a new name."
                )
            main, version, tagged = files(info.sha), None, None
            if release and release.file in main:
                file = api.hf_hub_download(filename=release.file, revision=info.sha, **where)
                text = read_bytes(Path(file), "reply").decode("utf-8", "replace")
                stated = re.search(f"^{release.states}$", text, re.MULTILINE)
                version = stated and stated[1]
            if release and release.tag in [tag.name for tag in api.list_repo_refs(**where).tags]:
                tagged = files(release.tag)
        changes = publication.changes(main)
        if release and tagged is not None and (differing := _data(publication.changes(tagged))):
            more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
            how = ", in its spec.toml, and build again" if publication.kind == "dataset" else ""
            raise HubError(
                f"{publication.repo_id} has a version {release.version} (tag {release.tag}) with other data: "
                f"{differing[0]} differs{more}. A version is published once. Give the changed data a new version{how}."
            )
        if release and _data(changes):
            if tagged is not None and release.is_before(version):  # main went on to a later version
                changes = {}
            else:
                added = [path for path, change in changes.items() if change == DELETED]
                if obstacle := release.obstacle(version, main, added, tagged is not None):
                    raise HubError(f"{publication.name} holds {obstacle}")
        tag = release.tag if release and tagged is None else ""
        plan = Plan(publication, changes, tag, bool(info.private), info.sha)
        if not (plan.private or public or plan.idle or publication.kind == "model"):
            raise HubError(
                f"{publication.repo_id} is public: everyone sees at once what is sent there. Pass --public if you mean "
                "that."
            )
        return plan

    def publish(self, plan: Plan) -> str:
        """Carry out a plan, and say in a line what was done; an error says what is on the Hub now.

        If it is killed or fails at any point, plan and publish again: what is missing is then sent and tagged.
        """
        publication, where, head = plan.publication, plan.publication.where, plan.head
        if plan.idle:
            return f"{publication}: there already; nothing was changed"
        name, done = publication.name, "Nothing is published."
        operations = [
            CommitOperationDelete(path, is_folder=False) if change == DELETED else publication.uploads[path]
            for path, change in plan.changes.items()
            if change != SAME
        ]
        try:
            if head is None:
                with calling(f"creating {name}"):
                    self._api.create_repo(**where, private=plan.private, space_sdk=publication.sdk)
                done = "The repository is there, but without files."
            if operations:
                with calling(f"uploading to {name}"):
                    made = self._api.create_commit(
                        **where,
                        operations=operations,
                        commit_message=publication.message,
                        parent_commit=head,  # a commit of somebody else's is not overwritten
                        create_pr=publication.proposed,
                    )
                if publication.proposed:
                    return f"{publication}: proposed, {one_line(made.pr_url, 200)}"
                head, done = made.oid, "The files are there, but not the tag."
            if plan.tag:
                with calling(f"tagging {name} as {plan.tag}"):
                    self._api.create_tag(**where, tag=plan.tag, revision=head)
            done = "Files and tag are there, but could not be compared."
            if not self.plan(publication, public=True).idle:
                raise HubError("What the Hub shows now is not what was sent. Repeat the same command.")
        except HubError as error:
            raise HubError(f"{publication}: {done} {error}") from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{publication}: {done} The step that was under way may be done too. Run the same command to go on."
            ) from None
        kept = "; its tag stays where it is" if publication.release else ""
        return f"{publication}: published{f', tag {plan.tag}' if plan.tag else kept}"

    def revision(self, repo_id: str, tag: str) -> str:
        """Return the commit of a dataset behind a tag, or of main if its repository has no data and so no tag."""
        with calling(f"looking for {repo_id}"):
            try:
                refs = self._api.list_repo_refs(repo_id, repo_type="dataset")
            except RepositoryNotFoundError:
                raise HubError(
                    f"There is no dataset {repo_id!r:.80} on the Hub; `halluscope publish dataset` or `publish "
                    "benchmark` makes one. Name it with --benchmark."
                ) from None
            commits = {one.name: str(one.target_commit) for one in refs.tags}
            if commits and tag not in commits:
                raise HubError(
                    f"{repo_id} has no version with the tag {tag}; expected one of {', '.join(commits)}. Publish this "
                    "version, or score the dataset of that version."
                )
            return commits.get(tag) or str(refs.branches[0].target_commit)

    def results(self, repo_id: str) -> Iterator[tuple[str, str, EvalResultEntry]]:
        """Yield a model's results: where each stands (main, or an open pull request), its file, and its entry."""
        with calling(f"reading the results of {repo_id}"):
            if not self._api.repo_exists(repo_id):
                raise HubError(
                    f"There is no model {repo_id!r:.80} on the Hub; expected its name there, as org/name."
                )
            revisions = {"main": "main"} | {
                f"the open pull request {one.url}": f"refs/pr/{one.num}"
                for one in self._api.get_repo_discussions(
                    repo_id, discussion_type="pull_request", discussion_status="open"
                )
            }
            for where, revision in revisions.items():
                for file in self._api.list_repo_tree(repo_id, recursive=True, revision=revision):
                    is_small = isinstance(file, RepoFile) and file.size < LARGEST
                    if is_small and file.path.startswith(f"{RESULTS}/"):
                        local = self._api.hf_hub_download(repo_id, file.path, revision=revision)
                        try:
                            found = parse_eval_result_entries(
                                yaml.safe_load(read_bytes(Path(local), "reply"))
                            )
                        except Exception:  # of yaml, or of the library, for a file that holds no results
                            continue
                        yield from ((where, file.path, entry) for entry in found)


@contextmanager
def calling(doing: str) -> Iterator[None]:
    """Turn the library's errors (its own, httpx's, urllib3's, the system's) into one `HubError` without the token."""
    try:
        yield
    except HubError:
        raise
    except Exception as error:
        replies = (getattr(one, "response", None) for one in (error, error.__cause__))
        status = next((reply.status_code for reply in replies if reply is not None), None)
        if isinstance(error, TypeError | AttributeError | LookupError):
            status = ODD
        said, token = " ".join(str(error).split()), get_token()
        text = one_line(said.replace(token, "[the token]") if token else said)
        raise HubError(f"The Hub: {doing} failed. {ADVICE.get(status, AGAIN)} It said: {text:.500}") from None


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


def each(items: Iterable[Any], check: Callable[[Any], Any]) -> list[Any]:
    checked, problems = [], []
    for item in items:
        try:
            checked.append(check(item))
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise HubError("\n".join(["nothing was published.", *problems] if len(problems) > 1 else problems))
    return checked
