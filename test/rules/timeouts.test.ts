import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { peerTimes } from '../../src/peer/timeouts.ts'

describe('the times derived from the timeouts of peer calls', () => {
  it('include a lease that outlasts the call by 5 s, and 10 s to start the call (R-SUB-12)', () => {
    const { callMs, leaseMs, leastLeaseMs, noticeLeaseMs } = peerTimes({ connectSeconds: 5, readSeconds: 20 })
    assert.deepEqual([callMs, leaseMs, leastLeaseMs, noticeLeaseMs], [25_000, 40_000, 30_000, 65_000])
  })

  it('grow with the timeouts and keep their order (R-SUB-12)', () => {
    assert.deepEqual(peerTimes({ connectSeconds: 120, readSeconds: 600 }), {
      callMs: 720_000,
      leaseMs: 735_000,
      leastLeaseMs: 725_000,
      noticeLeaseMs: 1_455_000,
      fetchLeaseMs: 8_640_000,
      crossingMs: 720_000,
      closingMs: 1_440_000,
      handshakeMs: 2_880_000,
    })
  })

  it('allow a peer the default timeouts in a handshake, even when this service has shorter ones (R-SUB-12)', () => {
    const { callMs, leaseMs, crossingMs, closingMs, handshakeMs, fetchLeaseMs } = peerTimes({
      connectSeconds: 1,
      readSeconds: 1,
    })
    assert.deepEqual([callMs, leaseMs], [2000, 17_000])
    assert.deepEqual([crossingMs, closingMs, handshakeMs, fetchLeaseMs], [25_000, 50_000, 100_000, 300_000])
  })
})
