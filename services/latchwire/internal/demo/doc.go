// Package demo makes a first start worth looking at: two extensions that
// really call each other over loopback webhooks, a lock with both installed,
// and a third extension, probe, whose webhook is a fixed port where people and
// tests can listen.
//
// It uses nothing but the public API, like any partner would.
//
// The chain that one call of wheel.spin sets off:
//
//	butler calls wheel.spin                 depth 0
//	  event wheel.landed                    depth 1, delivered to butler
//	    butler calls lock.add-time          depth 2
//	      event lock.time-changed           depth 3, delivered to wheel
//	        wheel calls butler.note         depth 4
//	          event butler.noted            depth 5
package demo
