/** The page of files, and its forms. */
import type { ServiceError } from '../../../errors.ts'
import type { FileFacts } from '../file-store.ts'
import type { Files } from '../files.ts'
import type { Bodied } from '../../../http/dispatch/define-route.ts'
import { pageForm, type RequestBody } from '../../../http/dispatch/request-body.ts'
import type { PageExchange } from '../../../http/dispatch/route.ts'
import { isMultipart } from '../../../http/edge/body.ts'
import { Params } from '../../../http/edge/params.ts'
import type { HttpResponse } from '../../../http/edge/response.ts'
import { readUpload } from '../../../http/edge/upload.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../../../pages/shared/page.ts'
import { pageRefusal } from '../../../pages/shared/error-text.ts'
import { atField, formRefusal, inputRefusal, refusedOnPage } from '../../../pages/shared/refused-on-page.ts'
import { momentOf } from '../../../pages/shared/time.ts'
import type { View } from '../../../pages/shared/values.ts'
import { visible } from '../../../pages/shared/visible.ts'
import type { Messages } from '../../../pages/languages/language.ts'
import type { FileSettings } from '../options.ts'
import type { FileRow, FilesValues } from './values.ts'

export interface FilePageDeps extends PageDeps {
  readonly files: Files
  readonly limits: Pick<FileSettings, 'maxFileBytes'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly files: View<FilesValues>
  }
}

const filesOnAPage = 100

export const filesQuery = { after: optional(stringField('Of the link to the next files'), '') }

const ofDeletion = pageForm('action', 'name')

/** A multipart form is read as a stream by the handler. */
export const fileForm: RequestBody<Params> = {
  content: {
    ...ofDeletion.content,
    'multipart/form-data': {
      type: 'object',
      properties: {
        csrf_token: { type: 'string' },
        name: { type: 'string', description: 'Default: the name of the file' },
        file: { type: 'string', format: 'binary' },
      },
    },
  },
  read: (sent) => (isMultipart(sent.request) ? Promise.resolve(Params.none) : ofDeletion.read(sent)),
}

export async function showFiles(
  deps: FilePageDeps,
  exchange: PageExchange,
  { after }: ValuesOf<typeof filesQuery>,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const access = { actorId: actor.id, caller }
  const [values, { files, next }, usage] = await Promise.all([
    pageValues(deps, exchange, '/files', error),
    deps.files.list(access, { prefix: '', after, limit: filesOnAPage }),
    deps.files.usage(actor.id),
  ])
  const { messages } = deps.languages.of(exchange.request)
  const { size } = messages.files
  const page = deps.pages.files({
    ...values,
    files: files.map((file) => rowOf(file, values.actor_root, deps.now(), messages)),
    next_href: next === null ? null : `${values.actor_www}/files?${new URLSearchParams({ after: next }).toString()}`,
    is_first: after === '',
    count: usage.files,
    used: size(usage.bytes),
    most: size(usage.maxBytes),
    largest: size(deps.limits.maxFileBytes),
    form_action: `${values.actor_www}/files`,
  })
  return showPage(deps, exchange, page, error?.status)
}

function rowOf({ name, size, type, updatedAt }: FileFacts, root: string, now: number, messages: Messages): FileRow {
  return {
    name,
    label: visible(name),
    href: `${root}/files/${name.split('/').map(encodeURIComponent).join('/')}`,
    size: messages.files.size(size),
    type: visible(type),
    updated: momentOf(updatedAt, now, messages),
  }
}

export async function changeFiles(deps: FilePageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  return refusedOnPage(
    exchange,
    () => (isMultipart(exchange.request) ? upload(deps, exchange) : remove(deps, exchange)),
    (error) => showFiles(deps, exchange, { after: '' }, error),
  )
}

async function upload(deps: FilePageDeps, exchange: PageExchange): Promise<HttpResponse> {
  const { actor, caller, request } = exchange
  await readUpload(request, async ({ fields, filename, type, bytes }) => {
    const wanted = fields.get('name')?.trim() ?? ''
    // Some systems send decomposed letters.
    const name = (wanted === '' ? filename : wanted).normalize('NFC')
    if (filename === '') throw inputRefusal('no file was chosen', ({ files }) => files.noFile, 'file')
    await atField(wanted === '' ? 'file' : 'name', () =>
      deps.files.upload({ actorId: actor.id, caller }, name, bytes, { type }),
    )
  })
  return goOn(deps, exchange, Params.none, '/files', 'uploaded')
}

async function remove(deps: FilePageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const sent = await exchange.body()
  if (sent.get('action') !== 'delete') throw formRefusal('the action is unknown')
  if (!(await deps.files.remove({ actorId: actor.id, caller }, sent.get('name') ?? '')))
    throw pageRefusal('conflict', 'Cannot delete the file: it does not exist any longer', ({ files }) => files.gone)
  return goOn(deps, exchange, sent, '/files', 'deleted')
}
