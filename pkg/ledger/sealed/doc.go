// Package sealed encrypts the secrets of extensions before they are stored, so
// that who reads the store, or a copy of it, reads none (SEC-28).
//
// A sealed text is "sealed1.", the id of the key, a dot and, in standard
// base64, what AES-256-GCM made of the secret under a fresh nonce. It is bound
// to the extension and the field that it belongs to: put elsewhere, it does not
// open. Nothing keeps the store's writer from putting back an older value of
// the same field, or a text in the clear.
//
// Several [Keys] may be live, so that they can be rotated: the first seals, all
// open. A text that was stored in the clear is read as it is, so that keys can
// be introduced; it is sealed when its record is next written.
package sealed
