/** The page that imports an archive, and its forms. */
import { type ArchiveActs, doneRecords } from '../../archive/acts.ts'
import type { ArchiveImports } from '../../archive/archive-imports.ts'
import type { ImportState } from '../../archive/import-store.ts'
import type { NamedRecord, RefusedRecord } from '../../archive/merge-report.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import { pageForm, type RequestBody } from '../../http/dispatch/request-body.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { isMultipart } from '../../http/edge/body.ts'
import { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { readUpload } from '../../http/edge/upload.ts'
import type { PageLanguage } from '../languages/language.ts'
import { propertyHref } from '../properties/property-pages.ts'
import { errorText } from '../shared/error-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../shared/page.ts'
import { atField, formRefusal, inputRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import type { ImportValues, NamedImport, ShownImport } from './values.ts'

export interface ImportPageDeps extends PageDeps {
  readonly imports: Pick<ArchiveImports, 'find'>
  readonly archiveActs: ArchiveActs
  readonly config: Pick<Config, 'maxImportBytes'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly import: View<ImportValues>
  }
}

const stopForm = pageForm('action')

/** A multipart form is read as a stream by the handler. */
export const importForm: RequestBody<Params> = {
  content: {
    ...stopForm.content,
    'multipart/form-data': {
      type: 'object',
      properties: {
        csrf_token: { type: 'string' },
        existing: { enum: ['keep', 'replace'] },
        file: { type: 'string', format: 'binary' },
      },
    },
  },
  read: (sent) => (isMultipart(sent.request) ? Promise.resolve(Params.none) : stopForm.read(sent)),
}

export async function showImport(
  deps: ImportPageDeps,
  exchange: PageExchange,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const [values, last] = await Promise.all([
    pageValues(deps, exchange, '/import', error),
    deps.imports.find(exchange.actor.id),
  ])
  const language = deps.languages.of(exchange.request)
  const page = deps.pages.import({
    ...values,
    last: last === null ? null : shown(last, values.actor_www, deps.now(), language),
    largest: language.messages.files.size(deps.config.maxImportBytes),
    history_href: deps.history.isOn ? `${values.actor_www}/history` : null,
    form_action: `${values.actor_www}/import`,
  })
  return showPage(deps, exchange, page, error?.status)
}

const kinds = ['property', 'list', 'item', 'file'] as const

function shown(state: ImportState, actorWww: string, now: number, language: PageLanguage): ShownImport {
  const { messages } = language
  const { report, records, startedAt, endedAt } = state
  const named = ({ kind, name }: NamedRecord, message = ''): NamedImport => ({
    kind,
    name: visible(name),
    href: kind === 'file' ? null : propertyHref(actorWww, name),
    message,
  })
  return {
    state: state.state,
    position: doneRecords(state),
    records,
    started: momentOf(startedAt, now, messages),
    ended: endedAt === null ? null : momentOf(endedAt, now, messages),
    kinds: kinds.map((kind) => ({ kind, imported: report.imported[kind] ?? 0, same: report.same[kind] ?? 0 })),
    kept: report.kept.map((record) => named(record)),
    kept_count: report.keptCount,
    refused: report.refused.map((record) => named(record, reasonOf(record, language))),
    refused_count: report.refusedCount,
    left_out: Object.values(report.leftOut).reduce((sum, some) => sum + some, 0),
  }
}

function reasonOf({ error, message }: RefusedRecord, language: PageLanguage): string {
  if (error === 'rejected') return language.messages.errors.rejected
  return visible(errorText(new ServiceError(error, message), language))
}

export async function changeImport(
  deps: ImportPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  return refusedOnPage(
    exchange,
    () => (isMultipart(exchange.request) ? begin(deps, exchange) : stop(deps, exchange)),
    (error) => showImport(deps, exchange, error),
  )
}

async function begin(deps: ImportPageDeps, exchange: PageExchange): Promise<HttpResponse> {
  await readUpload(exchange.request, async ({ fields, filename, bytes }) => {
    if (filename === '') throw inputRefusal('no file was chosen', ({ files }) => files.noFile, 'file')
    const existing = fields.get('existing') === 'replace' ? 'replace' : 'keep'
    await atField('file', () => deps.archiveActs.import(exchange, bytes, existing))
  })
  return goOn(deps, exchange, Params.none, '/import', 'importBegun')
}

async function stop(deps: ImportPageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  const sent = await exchange.body()
  if (sent.get('action') !== 'stop') throw formRefusal('the action is unknown')
  await deps.archiveActs.stopImport(exchange)
  return goOn(deps, exchange, sent, '/import', 'importStopped')
}
