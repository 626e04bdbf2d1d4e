// Package deliver makes the webhook calls that package fanout put on the
// queue, each until it is acknowledged or its attempts are used up (contract
// section 8).
//
// # What holds
//
// A delivery leaves its queue only after it was acknowledged by a 2xx, kept
// among the dead, or put on the queue again for a later time; a worker that
// dies before that leaves it to the next, which repeats the attempt. So a
// receiver gets an event at least once, and knows a repetition by the
// webhook-id. Between attempts only sentAt, requestId and the signature's time
// change; the rest of the body stays the same to the byte.
//
// That an event was sent to an extension is noted before the POST begins, since
// receivers call back before they answer and name the event as the cause.
//
// # Who waits for whom
//
// Nobody. An endpoint has a few slots on a worker and a short line behind them;
// what comes beyond is handed back to the queue at once, with a growing delay.
// A later attempt is a message with a time of its own, and holds no slot
// either. So an endpoint that hangs for hours delays only itself (SEC-19).
//
// # What is dropped
//
// A delivery is given up without a trace when there is nobody left to tell: the
// extension's session has ended, or the extension was disabled or has no URL by
// now. It is not kept among the dead: whoever removed or disabled the extension
// wants it to be told nothing. An endpoint that answers 410 is disabled, and
// the delivery that found it out is kept.
package deliver
