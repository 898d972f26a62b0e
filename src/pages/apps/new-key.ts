/** The form that creates an API key. */
import type { NewKey } from '../../app/keys.ts'
import { cleanName } from '../../authorization-server/client.ts'
import type { ServiceError } from '../../errors.ts'
import type { Params } from '../../http/edge/params.ts'
import { longestPattern, maxGrants } from '../../permission/grants.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { formRefusal, inputRefusal } from '../shared/refused-on-page.ts'

/** How much of the properties or of the files a key reaches. */
export const keyReaches = ['none', 'view', 'edit'] as const
export type KeyReach = (typeof keyReaches)[number]

/** The input of the form. */
export interface TypedKey {
  readonly name: string
  /** A `KeyReach`; other text is refused. */
  readonly properties: string
  /** Names of properties or patterns, one per line. Empty: all properties. */
  readonly names: string
  /** A `KeyReach`; other text is refused. */
  readonly files: string
  /** Whether the key may call every method, action and tool. */
  readonly runs: boolean
  /** The last day of the key in UTC, such as `2030-01-31`; empty without an end. */
  readonly until: string
}

/** Names of the fields of the form. */
export const newKeyFields = [
  'name',
  'properties',
  'names',
  'files',
  'runs',
  'until',
] as const satisfies (keyof TypedKey)[]
export type KeyField = (typeof newKeyFields)[number]

export const emptyKey: TypedKey = { name: '', properties: 'view', names: '', files: 'none', runs: false, until: '' }

export function typedKey(sent: Params): TypedKey {
  return {
    name: sent.get('name') ?? '',
    properties: sent.get('properties') ?? 'none',
    names: (sent.get('names') ?? '').replaceAll('\r\n', '\n'),
    files: sent.get('files') ?? 'none',
    runs: sent.has('runs'),
    until: sent.get('until') ?? '',
  }
}

function reachOf(field: 'properties' | 'files', text: string): KeyReach {
  const reach = keyReaches.find((each) => each === text)
  if (reach === undefined) throw formRefusal(`${field} is neither none, view nor edit`)
  return reach
}

/**
 * The key that the form describes.
 *
 * @throws ServiceError `bad_request` for a name without text, a key without rights, or a day that has passed.
 */
export function newKeyOf(typed: TypedKey, now: number): NewKey {
  if (cleanName(typed.name) === '') throw inputRefusal('the name is empty', ({ newKey }) => newKey.nameMissing, 'name')
  const grants = grantsOf(typed)
  if (Object.keys(grants).length === 0)
    throw inputRefusal('the key would have no rights', ({ newKey }) => newKey.rightsMissing, 'properties')
  return { name: typed.name, grants, ...(typed.until === '' ? {} : { until: endOf(typed.until, now) }) }
}

const dataOperations = {
  properties: { view: ['read'], edit: ['read', 'append', 'write', 'delete'] },
  files: { view: ['read'], edit: ['read', 'write', 'delete'] },
} as const

function grantsOf({ names, runs, ...reaches }: TypedKey): NewKey['grants'] {
  const properties = reachOf('properties', reaches.properties)
  const files = reachOf('files', reaches.files)
  const listed = [...new Set(names.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
  return {
    ...(properties === 'none'
      ? {}
      : {
          properties: {
            patterns: listed.length === 0 ? ['*'] : listed,
            operations: dataOperations.properties[properties],
          },
        }),
    ...(files === 'none' ? {} : { files: { patterns: ['*'], operations: dataOperations.files[files] } }),
    ...(runs
      ? {
          methods: { patterns: ['*'], operations: ['call'] },
          actions: { patterns: ['*'], operations: ['execute'] },
          tools: { patterns: ['*'], operations: ['use'] },
        }
      : {}),
  }
}

/** The same refusal of `Keys.create`, in words for the form. */
export function explainedRefusal(error: ServiceError): ServiceError {
  if (error.code === 'conflict') return explained(error, ({ newKey }) => newKey.tooMany)
  if (error.code !== 'bad_request') return error
  return pageRefusal(error.code, error.message, ({ newKey }) => newKey.namesInvalid(maxGrants, longestPattern), {
    field: 'names',
  })
}

/** The end of the day in UTC. */
function endOf(day: string, now: number): Date {
  const begin = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  const end = new Date(begin + 86_400_000)
  // Date.parse accepts 30 February.
  const isDay = !Number.isNaN(begin) && new Date(begin).toISOString().startsWith(day)
  if (!isDay || end.getTime() <= now)
    throw inputRefusal(
      'the last day must be today or later, such as 2030-01-31',
      ({ newKey }) => newKey.dayInvalid,
      'until',
    )
  return end
}
