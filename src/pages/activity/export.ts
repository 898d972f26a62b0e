/** The audit log as a file. */
import { type AuditLogEntry, entryMembers } from '../../audit-log/entry.ts'
import { choiceField, type ValuesOf } from '../../json/fields.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { type ActivityPageDeps, activityQuery, chosenOf, filterOf } from './activity-page.ts'

export const exportQuery = { ...activityQuery, format: choiceField('The format of the file', ['csv', 'json']) }

/** Sends all entries that fit as a file, newest first. */
export async function exportActivity(
  deps: ActivityPageDeps,
  { actor, query }: PageExchange<string, ValuesOf<typeof exportQuery>>,
): Promise<HttpResponse> {
  const pages = deps.auditLog.everyPage(actor.id, filterOf(chosenOf(query)))
  // An error of the first page is answered with its status.
  const first = await pages.next()
  const isCsv = query.format === 'csv'
  return {
    status: 200,
    headers: {
      'Content-Type': isCsv ? 'text/csv; charset=utf-8' : 'application/json',
      'Content-Disposition': `attachment; filename="activity.${query.format}"`,
    },
    body: null,
    stream: (isCsv ? csvOf : jsonOf)(resumed(first, pages)),
  }
}

type Pages = AsyncGenerator<readonly AuditLogEntry[], void>

async function* resumed(first: IteratorResult<readonly AuditLogEntry[], void>, rest: Pages): Pages {
  if (first.done !== true) yield first.value
  yield* rest
}

async function* jsonOf(pages: Pages): AsyncGenerator<string, void> {
  yield '{"activity":['
  let separator = ''
  for await (const entries of pages) {
    const texts = entries.map((entry) => JSON.stringify(entryMembers(entry)))
    if (texts.length > 0) yield `${separator}${texts.join(',')}`
    separator = ','
  }
  yield ']}'
}

const columns = [
  'at',
  'caller_kind',
  'caller',
  'through',
  'method',
  'path',
  'decision',
  'reason',
  'status',
  'times',
  'device',
  'request_id',
  'caller_name',
] as const

/** CSV (RFC 4180) with a row of names. */
async function* csvOf(pages: Pages): AsyncGenerator<string, void> {
  yield `${columns.join(',')}\r\n`
  for await (const entries of pages) {
    const lines = entries.map((entry) => {
      const values = entryMembers(entry)
      return `${columns.map((name) => cellOf(String(values[name]))).join(',')}\r\n`
    })
    yield lines.join('')
  }
}

/** Callers choose some texts. A spreadsheet would calculate a cell that begins like a formula, so a quote precedes it. */
function cellOf(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
