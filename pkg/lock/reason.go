package lock

// A Reason says why a capability is not available on a lock right now. The set
// is closed and part of the contract (contract section 4). It stands in the
// capabilities' reason, in the details of the refusal "unavailable", and as
// the code of a rejected invocation whose lock changed after admission. The
// empty Reason means available.
type Reason string

// The reasons of contract section 4.
const (
	LockNotActive                Reason = "lock-not-active"
	NotInvocable                 Reason = "not-invocable"
	ExtensionDisabled            Reason = "extension-disabled"
	EndpointNotConfigured        Reason = "endpoint-not-configured"
	NoKeyholder                  Reason = "no-keyholder"
	AlreadyFrozen                Reason = "already-frozen"
	NotFrozen                    Reason = "not-frozen"
	PilloryNotEnabled            Reason = "pillory-not-enabled"
	NoTaskAssigned               Reason = "no-task-assigned"
	TaskAlreadyAssigned          Reason = "task-already-assigned"
	TaskNotTimed                 Reason = "task-not-timed"
	TimerAlreadyStarted          Reason = "timer-already-started"
	TimerRunning                 Reason = "timer-running"
	VerificationRequired         Reason = "verification-required"
	VerificationAlreadyRequested Reason = "verification-already-requested"
	AlreadyOpen                  Reason = "already-open"
	KeyholderOnly                Reason = "keyholder-only"
	OpeningNotReady              Reason = "opening-not-ready"
	NoActiveTimeLimit            Reason = "no-active-time-limit"
)

// Reasons lists every reason, for the tests that compare the set with the
// contract's documents.
func Reasons() []Reason {
	return []Reason{
		LockNotActive, NotInvocable, ExtensionDisabled, EndpointNotConfigured, NoKeyholder, AlreadyFrozen, NotFrozen,
		PilloryNotEnabled, NoTaskAssigned, TaskAlreadyAssigned, TaskNotTimed, TimerAlreadyStarted, TimerRunning,
		VerificationRequired, VerificationAlreadyRequested, AlreadyOpen, KeyholderOnly, OpeningNotReady,
		NoActiveTimeLimit,
	}
}

// Sentence returns the reason in words, for people. It is empty for the empty
// Reason.
func (r Reason) Sentence() string {
	switch r {
	case LockNotActive:
		return "the lock is not active"
	case NotInvocable:
		return "the caller may not invoke this capability"
	case ExtensionDisabled:
		return "the extension is disabled"
	case EndpointNotConfigured:
		return "the extension has no endpoint to call"
	case NoKeyholder:
		return "the lock has no keyholder"
	case AlreadyFrozen:
		return "the lock is already frozen"
	case NotFrozen:
		return "the lock is not frozen"
	case PilloryNotEnabled:
		return "the pillory is not enabled on this lock"
	case NoTaskAssigned:
		return "no task is assigned"
	case TaskAlreadyAssigned:
		return "a task is already assigned"
	case TaskNotTimed:
		return "the assigned task has no timer"
	case TimerAlreadyStarted:
		return "the task's timer has already started"
	case TimerRunning:
		return "the task's timer is still running"
	case VerificationRequired:
		return "the task must be verified first"
	case VerificationAlreadyRequested:
		return "a verification is already requested"
	case AlreadyOpen:
		return "the lock is already open"
	case KeyholderOnly:
		return "only the keyholder may do this"
	case OpeningNotReady:
		return "the opening is not ready yet"
	case NoActiveTimeLimit:
		return "no time limit is active"
	}
	return string(r)
}
