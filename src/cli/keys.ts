/** `troupe keys`: generates encryption keys, and encrypts the stored secrets again with the first key. */
import { sealedColumnsWith } from '../secret/sealed-columns.ts'
import { forgetKeys } from '../secret/forgotten-keys.ts'
import { ringFits, unopenedSecrets } from '../secret/key-check.ts'
import { generateKey, type KeyRing } from '../secret/key-ring.ts'
import { resealAll } from '../secret/reseal.ts'
import { keyRingOf, unfitKeys } from '../open-runtime.ts'
import type { Store } from '../store/store.ts'
import { commandArgs } from './command-args.ts'
import { isConfirmed } from './confirm.ts'
import { withExistingStore } from './existing-store.ts'
import { counted, print, printError, printJson } from './output.ts'
import { UsageError } from './usage-error.ts'
import { commandConfig, openExistingStore, projectTables } from './project/known-project.ts'

export async function keys(args: readonly string[]): Promise<number> {
  const [what, ...more] = args
  const option = more.find((word) => word.startsWith('-'))
  if (option !== undefined && what !== 'forget')
    throw new UsageError(`Unknown option ${option} of troupe keys: troupe keys --help lists the options.`)
  if (more.length === 0 && what === 'new') return newKey()
  if (more.length === 0 && what === 'rotate') return rotate()
  if (what === 'forget') return forget(more)
  throw new UsageError('Cannot run troupe keys: expected new, rotate or forget.')
}

function newKey(): number {
  print(generateKey())
  if (process.stderr.isTTY) {
    printError(
      'Put it first in TROUPE_SECRET_KEYS, followed by a comma and the old keys; restart every process; then run: troupe keys rotate',
    )
  }
  return 0
}

async function rotate(): Promise<number> {
  const config = commandConfig()
  const store = await openExistingStore(config)
  try {
    const ring = await keyRingOf(config)
    if (!(await ringFits(store, ring, projectTables().tables))) throw unfitKeys(config)
    const { resealed } = await resealAll(store, ring, projectTables().tables)
    print(
      `${resealed} ${resealed === 1 ? 'secret is' : 'secrets are'} now encrypted with key ${ring.currentId}; you can remove the keys after it.`,
    )
  } finally {
    await store.close()
  }
  return 0
}

/** Names of the columns of the core for people. */
const coreMeanings: Readonly<Record<string, string>> = {
  'actor.passphrase': 'passphrases of actors: troupe actors renew-passphrase makes a new one',
  'trust.secret': 'secrets of relationships: their owners end them and connect again',
  'trust.verification_token': 'tokens of requests for relationships',
  'companion.passphrase': 'passphrases of companions at other services',
  'notice.secret': 'messages to peers that wait',
  'account.provider_tokens': 'tokens of identity providers: the next sign-in replaces them',
  'one_time.data': 'open sign-ins, links and codes',
  'service_connection.tokens': 'accounts at other services: their owners connect them again',
  'mcp_task.call': 'calls of AI clients',
  'mcp_task.outcome': 'results of calls of AI clients',
  'approval.arguments': 'calls that wait for an approval',
  'idempotent_request.answer': 'stored responses to repeated requests',
  'departure.secrets': 'moves to other services',
  'arrival.private_key': 'keys of arrivals from other services',
  'arrival_peer.secret': 'secrets for the peers of arrivals',
}

function meaningOf(field: string): string {
  const column = sealedColumnsWith(projectTables().tables).find((one) => `${one.table}.${one.column}` === field)
  return column?.meaning ?? coreMeanings[field] ?? field
}

async function forget(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe keys forget', args, { yes: 'boolean', json: 'boolean' })
  if (words.length > 0) throw new UsageError('Cannot run troupe keys forget: expected no argument besides options.')
  return withExistingStore(async (store, config) => {
    const ring = await keyRingOf(config)
    const { fields, keyIds, damaged } = await lostSecrets(store, ring)
    const lost = Object.values(fields).reduce((sum, number) => sum + number, 0)
    if (options.json !== true) {
      for (const [field, number] of Object.entries(fields)) print(`${String(number).padStart(8)}  ${meaningOf(field)}`)
      if (damaged > 0)
        print(
          `${counted(damaged, 'secret')} of configured keys ${damaged === 1 ? 'does' : 'do'} not open: troupe doctor deep names them.`,
        )
    }
    if (keyIds.length > 0) {
      const question = `${counted(lost, 'secret')} of the ${keyIds.length === 1 ? 'key' : 'keys'} ${keyIds.join(', ')} cannot be read without ${keyIds.length === 1 ? 'it' : 'them'}. Continue without? Type yes to confirm: `
      if (!(await isConfirmed(question, { answer: 'yes', act: 'forget the keys', isSure: options.yes }))) {
        print('No key was forgotten.')
        return 1
      }
      await store.write((tx) => forgetKeys(tx, keyIds))
    }
    if (options.json === true) printJson({ forgotten: keyIds, unreadable: fields })
    else if (keyIds.length === 0) print('Every stored secret is of a configured key: none is lost.')
    else
      print(
        `Forgot ${keyIds.join(', ')}. The service starts with the configured keys. A key that you find later opens its secrets again.`,
      )
    return 0
  })
}

/** Counts the secrets of keys that are not configured, by field. */
async function lostSecrets(
  store: Store,
  ring: KeyRing,
): Promise<{
  readonly fields: Readonly<Record<string, number>>
  readonly keyIds: readonly string[]
  readonly damaged: number
}> {
  const fields: Record<string, number> = {}
  const keyIds = new Set<string>()
  let damaged = 0
  let wrong = ''
  for await (const { field, keyId } of unopenedSecrets(store, ring, projectTables().tables)) {
    if (keyId === null) continue
    if (ring.keys.has(keyId)) {
      damaged += 1
      wrong = keyId
      continue
    }
    keyIds.add(keyId)
    fields[field] = (fields[field] ?? 0) + 1
  }
  // Another key with the id of the lost one would keep the start from telling them apart.
  if (damaged > 0 && !(await ringFits(store, ring, projectTables().tables)))
    throw new UsageError(
      `Cannot forget the key ${wrong}: a configured key has its id, and did not encrypt the stored secrets. Give the new key another id, as troupe keys new does.`,
    )
  return { fields, keyIds: [...keyIds].toSorted(), damaged }
}
