package runtime

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/workspace"
)

// Refusal is an answer of a remote that refuses. Its text has our words alone; the
// lists are data of the remote, as in a success.
type Refusal struct {
	Code     string // one that package api has
	Detail   string
	Lost     *workspace.Loss
	Sessions []api.Session
	Workers  []api.Worker
	Files    []string
	Taken    *int64
	// Gone: the session is proved dead.
	Gone bool
	// Explained is Detail with the remote's own explanation, on one line. That may name its
	// paths: it is for the user of this machine alone.
	Explained string
}

func (e *Refusal) Error() string { return e.Detail }

// sentences says for each code of a problem what it means. Other codes are not
// passed on.
var sentences = map[string]string{
	api.CodeBadRequest: "it does not take this request; the same command there says why", api.CodeUnauthorized: "it does not take the token",
	api.CodeForbidden: "the token may not do this there", api.CodeNotFound: "there is no such workspace, session or record there",
	api.CodeAmbiguous: "the name means several there", api.CodeNameTaken: "the name is taken there", api.CodeBranchTaken: "the branch is taken there",
	api.CodeNotRepository: "the directory there is not in a git repository", api.CodeNoCommits: "the repository there has no commit",
	api.CodeBadName: "the name is not valid", api.CodeBadBase: "the base is not a branch, tag or commit there", api.CodeEscapes: "the place is outside of what is allowed there",
	api.CodeWorkWouldLose: "work would be lost", api.CodeUnknownLoss: "what would be lost could not be found out", api.CodeSessionsRun: "sessions run in it",
	api.CodeNotDeleted: "the workspace is not deleted", api.CodeNotFailed: "its creation has not failed", api.CodeTooManyWorkers: "it has as many workers as are allowed",
	api.CodeHasWorkers: "it has workers", api.CodeWriterBusy: "another viewer is attached", api.CodeStartFailed: "the program could not be started there",
	api.CodeUnreachable: "the session does not answer there", api.CodeEnded: "the session has ended", api.CodeTrimmed: "output that old is no longer kept",
	api.CodeTimeout: "the time is over", api.CodeUnsupported: "it cannot do this there", api.CodeBadConfig: "the configuration there is not valid",
	api.CodeConfigChanged: "the configuration there has changed", api.CodeSetupFailed: "the setup failed there", api.CodeTeardown: "the teardown failed there",
	api.CodeInternal: "it had an internal error; its log says more", api.CodeTooLarge: "the request is too large", api.CodeStopping: "its server is stopping",
	api.CodeBusy: "it is busy", api.CodeKeyReused: "the Idempotency-Key was used for another request", api.CodeKeyBusy: "a request with this Idempotency-Key is under way",
	api.CodeRange: "the offset is beyond the output", api.CodeTooManyView: "it has as many viewers as it takes", api.CodeUnsafeBase: "its base directory is not safe",
	api.CodeMissing: "the directory is missing there", api.CodeDiskFull: "its disk is full", api.CodeNotKept: "this is not kept there", api.CodeNoSnapshot: "there is no snapshot of it",
	api.CodeBadSnapshot: "the snapshot is damaged", api.CodeHeldUp: "something holds it up there", api.CodeOccupied: "the place is taken there", api.CodeFetch: "it could not fetch",
	api.CodeForeign: "the repository there belongs to another user", api.CodeGitFailed: "git failed there", api.CodeLeavesScope: "the directory leaves the scope",
	api.CodeNoPorts: "it has no free ports", api.CodeNotLeft: "it is not left over", api.CodeMoved: "it was moved there", api.CodeNothingToCompare: "there is nothing to compare with",
	api.CodeReplaced: "the directory was replaced there", api.CodeUnreadable: "a part of it cannot be read there", api.CodeChanged: "the screen has changed; nothing was typed",
	api.CodeNotRead: "the program does not read its input", api.CodeUncommitted: "it has changes that are not committed", api.CodeConflict: "there are conflicts",
	api.CodeInUse: "the branch is in use there", api.CodeCheckFailed: "the check failed there", api.CodeRejected: "the push was rejected", api.CodePushFailed: "the push failed",
	api.CodeDialog: "a dialog shows", api.CodeNotSubmitted: "the text was typed and not submitted", api.CodeAnswered: "it was answered already", api.CodeRequestChanged: "the request means something else now", api.CodeNotShown: "the text did not show",
	api.CodeBundleInvalid: "it does not take the bundle's content", api.CodeBundleMissing: "it does not have the bundle: `middleman bundle sync` brings it there",
	api.CodeBundleDigest: "it has no revision of the bundle with that digest: `middleman bundle sync` brings it there", api.CodeBundleProfile: "the bundle has no such profile",
	api.CodeBundleDeclared: "it cannot enforce what the bundle declares", api.CodeBundleChanged: "it has another content under that revision of the bundle",
	api.CodeBundleInUse: "sessions or profiles there use the bundle", api.CodeBundleStore: "its store of bundles is damaged",
	api.CodeRefusedGrant: "its policy refuses what the profile needs", api.CodeSecret: "it does not have the secret that the profile needs",
}

// newRefusal decodes a problem. One that cannot be decoded, or whose code is not
// known, is an internal error of the remote.
func newRefusal(name string, status int, raw []byte) *Refusal {
	var p api.Problem
	if client.Decode(raw, &p) != nil {
		p = api.Problem{}
	}
	text, known := sentences[p.Code]
	switch {
	case !known && status == 401:
		p.Code = api.CodeUnauthorized
	case !known && status == 404:
		p.Code = api.CodeNotFound
	case !known:
		p.Code = api.CodeInternal
	}
	if !known {
		text = sentences[p.Code]
	}
	said := inShort(p.Detail)
	tidy(name, &p, false)
	detail := fmt.Sprintf("runtime %s: %s", name, text)
	explained := detail
	switch {
	case said == "":
	case p.Code == api.CodeBadRequest: // of which our words say nothing
		explained = fmt.Sprintf("runtime %s says: %s", name, said)
	default:
		explained += "; it says: " + said
	}
	return &Refusal{
		Code: p.Code, Detail: detail, Explained: explained, Gone: p.Code == api.CodeEnded && status == 410,
		Lost: p.Lost, Sessions: p.Sessions, Workers: p.Workers, Files: p.Files, Taken: p.Taken,
	}
}

// explanations are the fields of answers in which a server explains something in
// its own words, which may name its paths. They keep whether there is something.
var explanations = map[string]bool{
	"Error": true, "Problem": true, "Note": true, "Journal": true, "LeftUnknown": true, "Detail": true, "Warnings": true, "Unknown": true,
	"Why": true, "Hint": true, "Final": true, "Failed": true,
}

// placed are the types that say which runtime they are on.
var placed = []reflect.Type{reflect.TypeFor[api.Workspace](), reflect.TypeFor[api.Session](), reflect.TypeFor[api.NoticeItem]()}

// names are the fields of answers that lists show as they are. A remote may put
// anything there.
var names = map[string]bool{
	"Name": true, "Label": true, "WorkspaceName": true, "Branch": true, "RepositoryName": true, "Session": true, "SessionName": true, "Profile": true, "Backend": true, "State": true, "Foreground": true,
}

// maxShort bounds an explanation that is passed on, in characters.
const maxShort = 500

// inShort returns an explanation of a remote on one line, without what does not show.
func inShort(text string) string {
	line := []rune(plaintext.Line(text))
	if len(line) > maxShort {
		return string(line[:maxShort]) + "..."
	}
	return string(line)
}

// tidier makes an answer of a remote fit to be passed on.
type tidier struct {
	name    string // the remote's
	explain bool   // pass explanations on
}

// tidy replaces the explanations in an answer of the remote with that name unless explain
// is set, which the user of this machine alone may read. It says of what is in the answer
// that it is there. In names it spells out what does not show. A list that is missing
// becomes an empty one. How sessions are sorted is for the hub to say.
func tidy(name string, answer any, explain bool) {
	if answer != nil {
		tidier{name, explain}.value(reflect.ValueOf(answer))
	}
}

// explanation returns what is passed on of an explanation.
func (t tidier) explanation(text string) string {
	if t.explain {
		return t.name + " says: " + inShort(text)
	}
	return "runtime " + t.name + " has an explanation: ask there"
}

// isNoList reports whether a list is missing that clients are promised: null is none.
func isNoList(field reflect.StructField, f reflect.Value) bool {
	return f.Kind() == reflect.Slice && f.IsNil() && f.Type().Elem().Kind() != reflect.Uint8 && !strings.Contains(field.Tag.Get("json"), ",omit")
}

func (t tidier) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			t.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch f := v.Field(i); {
			case !field.IsExported():
			case isNoList(field, f):
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			case field.Name == "Runtime" && slices.Contains(placed, v.Type()):
				f.SetString(t.name)
			case names[field.Name] && f.Kind() == reflect.String:
				f.SetString(plaintext.Line(f.String()))
			case !explanations[field.Name] && !(field.Name == "Reason" && v.Type() == reflect.TypeFor[api.Availability]()):
				t.value(f)
			case f.Kind() == reflect.String:
				if f.Len() > 0 {
					f.SetString(t.explanation(f.String()))
				}
			case f.Type() == reflect.TypeFor[[]string]():
				f.Set(reflect.ValueOf(t.explanations(f.Interface().([]string))))
			default:
				t.value(f)
			}
		}
		if v.CanAddr() {
			judge(v.Addr().Interface())
		}
	}
}

// explanations is explanation for a list: one text where they are not passed on.
func (t tidier) explanations(list []string) []string {
	if len(list) > 0 && !t.explain {
		return []string{t.explanation("")}
	}
	for i := range list {
		list[i] = t.explanation(list[i])
	}
	return list
}

// judge says anew how lists show a session, or a workspace without one.
func judge(part any) {
	switch part := part.(type) {
	case *api.Session:
		part.Attention = attention.Of(*part)
	case *api.Workspace:
		part.Attention = attention.OfEmpty(*part)
	}
}
