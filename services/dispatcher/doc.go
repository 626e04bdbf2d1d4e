// Package dispatcher takes admitted calls from the queue, calls their target at
// most once and records how each settled (design section 4).
//
// Any number of dispatchers work side by side. What one holds when it dies is
// finished by another: a partner's call that had begun is settled as unknown
// and never repeated, a built-in's is completed exactly once.
package dispatcher
