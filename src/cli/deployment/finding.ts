/** A result of one check of a deployment. */

export interface Finding {
  /** Short name of the check, such as `transport`. */
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly reason: string
  /** The remedy. Absent when nothing is wrong. */
  readonly fix?: string
}

export function fine(check: string, reason: string): Finding {
  return { check, level: 'ok', reason }
}

export function warning(check: string, reason: string, fix: string): Finding {
  return { check, level: 'warning', reason, fix }
}

export function problem(check: string, reason: string, fix: string): Finding {
  return { check, level: 'problem', reason, fix }
}
