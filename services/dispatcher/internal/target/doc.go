// Package target calls a partner's target and says what it came to (contract
// section 7). Reading an answer is pure: [Read] makes an outcome of it, and
// nothing a target sends can make anything but one of the contract's rows.
package target
