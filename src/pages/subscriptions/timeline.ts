/** The delivery log of a subscription: the outcome of each update, the latest ones at a glance, and the next attempt. */
import { hintField, type ValuesOf } from '../../json/fields.ts'
import type { TimelineEntry } from '../../publication/diff-store.ts'
import type { Timeline } from '../../publication/publications.ts'
import { addressFor, filtersFor } from '../listing/choices.ts'
import type { Messages } from '../languages/language.ts'
import { pagingOf, partOf, partQuery } from '../shared/paging.ts'
import { type Moment, momentOf } from '../shared/time.ts'
import { visible } from '../shared/visible.ts'
import type { SubscriptionValues, TimelineMark, TimelineRow } from './values.ts'

const outcomes = ['delivered', 'waiting', 'failed'] as const
type Outcome = (typeof outcomes)[number]

export const timelineQuery = {
  ...partQuery,
  outcome: hintField('Only updates with this outcome', outcomes),
}
export type TimelineQuery = ValuesOf<typeof timelineQuery>

const rowsOnAPage = 50
const marksShown = 30

type TimelineValues = Pick<
  SubscriptionValues,
  'entries' | 'marks' | 'summary' | 'filters' | 'address' | 'next_attempt' | 'paging' | 'failed'
>

export const noTimeline: Omit<TimelineValues, 'paging' | 'address'> = {
  entries: [],
  marks: [],
  summary: '',
  filters: [],
  next_attempt: null,
  failed: 0,
}

/** @param page Path of the page. */
export function timelineValues(
  { entries, backlog, subscription }: Timeline,
  query: TimelineQuery,
  { page, now, messages }: { readonly page: string; readonly now: number; readonly messages: Messages },
): TimelineValues {
  const rows = entries.map((entry) => timelineRow(entry, now, messages))
  const selected = query.outcome === undefined ? rows : rows.filter((row) => groupOf(row) === query.outcome)
  const paging = pagingOf(query, selected.length, rowsOnAPage)
  const marks = rows.slice(0, marksShown).map(({ mark }) => mark)
  const next = nextAttempt(subscription, backlog, now)
  return {
    entries: partOf(selected, paging, rowsOnAPage),
    paging,
    address: addressFor(page, { outcome: query.outcome ?? '' }, { outcome: '' }),
    filters: filtersFor(outcomes, {
      chosen: query.outcome,
      all: { name: messages.subscription.all, count: rows.length },
      labels: messages.subscription.outcomes,
      countOf: (each) => rows.filter((row) => groupOf(row) === each).length,
      hrefOf: (outcome) => addressFor(page, { outcome }, { outcome: '' }),
    }),
    marks: marks.toReversed(),
    summary: summaryOf(marks, entries.slice(0, marksShown), messages),
    next_attempt: next === null ? null : momentOf(next, now, messages),
    failed: backlog?.failed ?? 0,
  }
}

/** When held updates are sent again, in Unix milliseconds. Null: no update is held, or only the owner can send them again. */
function nextAttempt(
  { failingSince, state }: Timeline['subscription'],
  backlog: Timeline['backlog'],
  now: number,
): number | null {
  if (backlog === undefined || backlog.waiting === 0 || state !== 'live') return null
  const { dueAt, pausedUntil } = backlog
  const isHeld = failingSince !== null || (pausedUntil ?? 0) > now
  return isHeld ? Math.max(dueAt ?? 0, pausedUntil ?? 0, now) : null
}

function groupOf({ mark }: TimelineRow): Outcome {
  return mark === 'late' ? 'delivered' : mark
}

function timelineRow(entry: TimelineEntry, now: number, messages: Messages): TimelineRow {
  const { subscription: words } = messages
  const moment = (ms: number | null): Moment | null => (ms === null ? null : momentOf(ms, now, messages))
  const { outcome, reason, acknowledgedAt, answeredAt } = entry
  const text = outcomeOf(entry, words)
  return {
    sequence: entry.sequence,
    outcome,
    outcome_text: reason === '' || outcome === 'delivered' ? text : words.reason(text, reason),
    mark: markOf(entry),
    ...changedOf(entry.changed),
    attempts: entry.attempts,
    written: momentOf(entry.writtenAt, now, messages),
    sent: moment(entry.sentAt),
    // A successful response to a callback acknowledges the diff.
    acknowledged: moment(acknowledgedAt ?? (outcome === 'delivered' ? answeredAt : null)),
  }
}

/** An update that needed several attempts arrived late. */
function markOf({ outcome, acknowledgedAt, attempts }: TimelineEntry): TimelineMark {
  if (outcome === 'failed') return 'failed'
  if (outcome === 'waiting' || (outcome === 'unsent' && acknowledgedAt === null)) return 'waiting'
  return attempts > 1 || outcome === 'superseded' ? 'late' : 'delivered'
}

function changedOf(changed: string): Pick<TimelineRow, 'changed' | 'more_changed'> {
  const stored = changed === '' ? [] : (JSON.parse(changed) as readonly (string | number)[])
  const last = stored.at(-1)
  return {
    changed: stored.filter((name) => typeof name === 'string').map(visible),
    more_changed: typeof last === 'number' ? last : 0,
  }
}

function outcomeOf(entry: TimelineEntry, words: Messages['subscription']): string {
  const { outcome, acknowledgedAt, attempts } = entry
  switch (outcome) {
    case 'waiting':
      return attempts > 0 ? words.retrying : words.waiting
    case 'failed':
      return words.rejected
    case 'unsent':
      return acknowledgedAt === null ? words.unsent : words.fetched
    case 'delivered':
      return deliveredText(entry, words)
    case 'superseded':
      return words.superseded
  }
}

function deliveredText(entry: TimelineEntry, words: Messages['subscription']): string {
  const took = durationOf(entry)
  return took === null ? words.delivered : words.deliveredIn(took)
}

/** Milliseconds from the last attempt to its response. */
function durationOf({ sentAt, answeredAt }: TimelineEntry): number | null {
  return sentAt === null || answeredAt === null ? null : answeredAt - sentAt
}

function summaryOf(
  marks: readonly TimelineMark[],
  entries: readonly TimelineEntry[],
  { subscription: words }: Messages,
): string {
  const count = (...counted: readonly TimelineMark[]): number => marks.filter((mark) => counted.includes(mark)).length
  const durations = entries
    .filter(({ outcome }) => outcome === 'delivered')
    .flatMap((entry) => durationOf(entry) ?? [])
    .toSorted((a, b) => a - b)
  return words.summary({
    delivered: count('delivered', 'late'),
    waiting: count('waiting'),
    failed: count('failed'),
    median: durations[Math.floor(durations.length / 2)] ?? null,
  })
}
