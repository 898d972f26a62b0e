/** `/<actor>/import`: an archive comes into the actor, in the background. */
import { type ArchiveActs, doneRecords } from '../../../archive/acts.ts'
import type { ArchiveImports } from '../../../archive/archive-imports.ts'
import type { ImportState } from '../../../archive/import-store.ts'
import { ServiceError } from '../../../errors.ts'
import { choiceField, optional } from '../../../json/fields.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { RequestBody } from '../../dispatch/request-body.ts'
import type { Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { urlOf } from '../../dispatch/urls.ts'
import { json, noContent } from '../../edge/response.ts'

export interface ImportRouteDeps {
  readonly imports: Pick<ArchiveImports, 'find'>
  readonly archiveActs: ArchiveActs
  readonly baseUrl: string
}

const counts = { type: 'object', additionalProperties: { type: 'integer' } } as const
const time = { type: ['string', 'null'], format: 'date-time' } as const

function namesOf(members: Readonly<Record<string, object>>) {
  const item = { type: 'object', required: Object.keys(members), properties: members } as const
  return {
    type: 'object',
    required: ['count', 'first'],
    properties: { count: { type: 'integer' }, first: { type: 'array', items: item, maxItems: 100 } },
  } as const
}

const named = { kind: { enum: ['property', 'list', 'item', 'file'] }, name: { type: 'string' } } as const

const importSchema = {
  type: 'object',
  required: [
    'id',
    'state',
    'existing',
    'records',
    'position',
    'started_at',
    'ended_at',
    'imported',
    'same',
    'kept',
    'refused',
    'left_out',
  ],
  properties: {
    id: { type: 'string', description: 'The request id of its changes in the history' },
    state: { enum: ['running', 'done', 'failed', 'stopped'] },
    existing: { enum: ['keep', 'replace'] },
    records: { type: 'integer', description: 'Records of the archive' },
    position: { type: 'integer', description: 'Records that are done' },
    started_at: time,
    ended_at: time,
    imported: { ...counts, description: 'Records that came in, by kind' },
    same: { ...counts, description: 'Records that the actor had already' },
    kept: { ...namesOf(named), description: 'Names under which the actor has another content, and kept it' },
    refused: {
      ...namesOf({ ...named, error: { type: 'string' }, message: { type: 'string' } }),
      description: 'Records that the actor does not accept',
    },
    left_out: { ...counts, description: 'Records that only an operator can import' },
    reason: { type: 'string', description: 'Why it failed' },
  },
} as const

/** The handler reads the body as a stream. */
const archive: RequestBody<undefined> = {
  content: { 'application/x-ndjson': { type: 'string', format: 'binary' } },
  isStream: true,
  read: async () => undefined,
}

const path = '/:actor/import' as const

export function importRoutes({ imports, archiveActs, baseUrl }: ImportRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getImport',
      method: 'GET',
      path,
      access: 'archive',
      summary: 'The last import: its progress, and what came in',
      responses: { 200: { text: 'The import', schema: importSchema }, ...actorErrors },
      handler: async ({ actor }) => {
        const state = await imports.find(actor.id)
        if (state === null) throw new ServiceError('not_found', 'This actor has imported no archive')
        return json(200, shown(state))
      },
    }),
    defineRoute({
      id: 'importArchive',
      method: 'POST',
      path,
      access: 'archive',
      summary:
        'Imports the properties, lists and files of an archive, in the background. An archive that is not complete changes nothing',
      query: {
        existing: optional(
          choiceField('What happens to other content of the same name', ['keep', 'replace']),
          'keep' as const,
        ),
      },
      request: archive,
      responses: {
        202: { text: 'The import has begun. `Location` has its progress', schema: importSchema },
        ...writeErrors,
        ...errorResponses(429, 507),
      },
      handler: async (exchange) => {
        const state = await archiveActs.import(exchange, exchange.request.stream(), exchange.query.existing)
        return json(202, shown(state), { Location: `${urlOf({ baseUrl }, exchange.actor.id)}/import` })
      },
    }),
    defineRoute({
      id: 'stopImport',
      method: 'DELETE',
      path,
      access: 'archive',
      summary: 'Stops the running import. What came in stays',
      responses: { 204: 'Stopped', ...actorErrors },
      handler: async (exchange) => {
        await archiveActs.stopImport(exchange)
        return noContent()
      },
    }),
  ]
}

function shown(state: ImportState): object {
  const { id, existing, records, report, reason } = state
  return {
    id,
    state: state.state,
    existing,
    records,
    position: doneRecords(state),
    started_at: new Date(state.startedAt).toISOString(),
    ended_at: state.endedAt === null ? null : new Date(state.endedAt).toISOString(),
    imported: report.imported,
    same: report.same,
    kept: { count: report.keptCount, first: report.kept },
    refused: { count: report.refusedCount, first: report.refused },
    left_out: report.leftOut,
    ...(reason === '' ? {} : { reason }),
  }
}
