/** The page of files, and its forms. */
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { FileFacts } from '../../file/file-store.ts'
import type { Files } from '../../file/files.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import { pageForm, type RequestBody } from '../../http/dispatch/request-body.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { isMultipart } from '../../http/edge/body.ts'
import { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { readUpload } from './upload.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { atField, formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import type { FileRow, FilesValues } from './values.ts'

export interface FilePageDeps extends PageDeps {
  readonly files: Files
  readonly config: Pick<Config, 'maxFileBytes'>
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
  const [{ files, next }, usage] = await Promise.all([
    deps.files.list(access, { prefix: '', after, limit: filesOnAPage }),
    deps.files.usage(actor.id),
  ])
  const values = pageValues(deps, exchange, '/files', error)
  const page = deps.pages.files({
    ...values,
    files: files.map((file) => rowOf(file, values.actor_root, deps.now())),
    next_href: next === null ? null : `${values.actor_www}/files?${new URLSearchParams({ after: next }).toString()}`,
    is_first: after === '',
    count: usage.files,
    used: sizeInWords(usage.bytes),
    most: sizeInWords(usage.mostBytes),
    largest: sizeInWords(deps.config.maxFileBytes),
    form_action: `${values.actor_www}/files`,
  })
  return showPage(exchange, page, error?.status)
}

function rowOf({ name, size, type, updatedAt }: FileFacts, root: string, now: number): FileRow {
  return {
    name,
    label: visible(name),
    href: `${root}/files/${name.split('/').map(encodeURIComponent).join('/')}`,
    size: sizeInWords(size),
    type: visible(type),
    updated: momentOf(updatedAt, now),
  }
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** Returns `1 byte`, `640 bytes` or `2.5 MB`, in powers of 1024 as the limits are set. */
export function sizeInWords(bytes: number): string {
  if (bytes === 1) return '1 byte'
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const size = bytes / 1024 ** power
  return `${size < 10 && power > 0 ? Number(size.toFixed(1)) : Math.round(size)} ${units[power]}`
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
    if (filename === '') throw formRefusal('no file was chosen', 'file')
    await atField(wanted === '' ? 'file' : 'name', () =>
      deps.files.put({ actorId: actor.id, caller }, name, bytes, { type }),
    )
  })
  return goOn(deps, exchange, Params.none, '/files', 'uploaded')
}

async function remove(deps: FilePageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const sent = await exchange.body()
  if (sent.get('action') !== 'delete') throw formRefusal('the action is unknown')
  if (!(await deps.files.remove({ actorId: actor.id, caller }, sent.get('name') ?? '')))
    throw new ServiceError('conflict', 'Cannot delete the file: it does not exist any longer')
  return goOn(deps, exchange, sent, '/files', 'deleted')
}
