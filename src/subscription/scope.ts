/** What a subscription covers, and how. Both sides of a subscription use these rules. */

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
