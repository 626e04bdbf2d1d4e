package broker

// Keys returns how many lanes are in use.
func (l *Lanes) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey)
}

// Struck returns how many messages have failures counted.
func (s *Subscriber) Struck() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.strikes)
}
