/** When the occurrences of a schedule are due. Times are Unix milliseconds. */
import { Cron } from 'croner'
import { ConfigError, problemIn } from '../../config/config-error.ts'
import { requireMembers } from '../known-members.ts'
import type { ScheduleTiming } from './background.ts'

export interface Timing {
  /** The declared timing as a string, to recognize a changed one. */
  readonly text: string
  /** The first occurrence when the schedule is new. */
  readonly first: (now: number) => number
  /** The next occurrence after a time. Occurrences before it, which were missed, are left out. */
  readonly next: (scheduledAt: number, after: number) => number
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** Shorter intervals would load the database. */
const shortestMs = 1000
const longestMs = 366 * 86_400_000

/** @param what The failed declaration, such as `Cannot declare the schedule "tidy":`. @throws ConfigError */
export function timingOf(what: string, declared: ScheduleTiming): Timing {
  requireMembers(what, { every: true, cron: true, timezone: true }, declared)
  const { every, cron, timezone } = declared as { every?: unknown; cron?: unknown; timezone?: unknown }
  if ((every === undefined) === (cron === undefined))
    throw new ConfigError(`${what} it needs either every, such as '1h', or cron, such as '0 3 * * *'.`)
  if (cron !== undefined) return cronTiming(what, cron, timezone ?? 'UTC')
  if (timezone !== undefined) throw new ConfigError(`${what} timezone belongs to cron.`)
  return intervalTiming(what, every)
}

function intervalTiming(what: string, every: unknown): Timing {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(String(every)) ?? []
  const ms = Number(amount) * (unitMs[unit as keyof typeof unitMs] ?? Number.NaN)
  if (!(ms >= shortestMs && ms <= longestMs))
    throw new ConfigError(
      `${what} every must be a number with its unit s, m, h or d, from '1s' to '366d', but it is ${JSON.stringify(every)}.`,
    )
  const next: Timing['next'] = (scheduledAt, after) =>
    scheduledAt + Math.max(1, Math.floor((after - scheduledAt) / ms) + 1) * ms
  return { text: JSON.stringify({ every: ms }), first: (now) => now + ms, next }
}

function cronTiming(what: string, cron: unknown, timezone: unknown): Timing {
  if (typeof cron !== 'string' || typeof timezone !== 'string')
    throw new ConfigError(`${what} cron and timezone must be strings.`)
  let parsed: Cron
  let first: Date | null
  try {
    parsed = new Cron(cron, { timezone, mode: '5-or-6-parts' })
    first = parsed.nextRun(new Date(0))
  } catch (error) {
    throw new ConfigError(`${what} its cron expression is not valid: ${problemIn(error)}.`)
  }
  if (first === null) throw new ConfigError(`${what} its cron expression ${JSON.stringify(cron)} never occurs.`)
  const nextAfter = (after: number): number => {
    const next = parsed.nextRun(new Date(after))
    if (next === null) throw new Error(`Cannot schedule ${JSON.stringify(cron)}: it never occurs again`)
    return next.getTime()
  }
  return {
    text: JSON.stringify({ cron, timezone }),
    first: nextAfter,
    next: (scheduledAt, after) => nextAfter(Math.max(scheduledAt, after)),
  }
}
