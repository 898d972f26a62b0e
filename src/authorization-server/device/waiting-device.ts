/** A device that waits for the owner (RFC 8628). */
export interface WaitingDevice {
  /** The secret of the program, with which it asks for its tokens. */
  readonly deviceCode: string
  /** The code that the owner enters, as the program shows it: `k7dm-4x2p`. */
  readonly userCode: string
}
