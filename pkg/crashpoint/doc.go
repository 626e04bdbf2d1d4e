// Package crashpoint marks the places where the crash tests let a process die:
// between two steps of the pipeline that must not be torn apart. In any build
// but theirs (tag crashpoints) a mark costs nothing.
package crashpoint

// The places, in the order in which a call passes them.
const (
	AfterRecord = "after-record"
	AfterClaim  = "after-claim"
	AfterPost   = "after-post"  // the target has answered, nothing is recorded
	AfterApply  = "after-apply" // a built-in's transition stands, its settlement does not
	AfterSettle = "after-settle"
	BeforeAck   = "before-ack"
)

// Places lists all places.
func Places() []string {
	return []string{AfterRecord, AfterClaim, AfterPost, AfterApply, AfterSettle, BeforeAck}
}
