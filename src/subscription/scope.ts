/** The scope of a subscription and how its changes are sent. Both sides use these rules. */

/** An empty field covers everything below the field before it. */
export interface Scope {
  readonly target: string
  readonly subtarget: string
  readonly resource: string
}

/** `high` sends diffs and `low` sends their URLs. With any other granularity the peer polls. */
export function deliversCallbacks(granularity: string): granularity is 'high' | 'low' {
  return granularity === 'high' || granularity === 'low'
}
