/** `troupe readdress`: informs the peers of all actors that the public address of the service has changed. */
import { ConfigError } from '../config/config.ts'
import type { Config } from '../config/options.ts'
import { findKnownAddress } from '../config/known-address.ts'
import { countAllPeers } from '../moving/arrival-store.ts'
import { type AddressChange, readdress, type ReaddressProgress } from '../moving/readdress.ts'
import { keyRingOf } from '../open-runtime.ts'
import type { Store } from '../store/store.ts'
import { commandArgs } from './command-args.ts'
import { publicUrlOf, withExistingStore } from './existing-store.ts'
import { counted, peersLine, print, printError } from './output.ts'
import { addressProblem } from './public-address.ts'
import { bytesOf } from './short-body.ts'
import { UsageError } from './usage-error.ts'

const maxNamed = 100
const progressEvery = 1000
const timeoutMs = 10_000
const longestAnswer = 65_536

export async function readdressCommand(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe readdress', args, { ask: 'boolean', 'dry-run': 'boolean' })
  const [given, ...more] = words
  if (given === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe readdress: expected the new base URL.')
  return withExistingStore(async (store, config) => {
    const change = await judged(store, config, { given, asksAgain: options.ask === true })
    if (options['dry-run'] === true) return report(store, change)
    return run(store, config, change)
  })
}

interface Wanted {
  readonly given: string
  readonly asksAgain: boolean
}

/** @throws ConfigError when the addresses do not both lead to this service, or the change is not one. */
async function judged(store: Store, config: Config, { given, asksAgain }: Wanted): Promise<AddressChange> {
  const to = publicUrlOf(config)
  if (given.replace(/(?<!\/)\/+$/, '') !== to)
    throw new ConfigError(
      `Cannot change the address to ${given}: BASE_URL is ${to}. Start the service with the new BASE_URL first, and run the command with the same settings.`,
    )
  const known = await store.read(findKnownAddress)
  if (known === null) throw new ConfigError('Cannot change the address: no service has started with this database.')
  const isRepeated = known.url === to
  const from = isRepeated ? config.formerBaseUrls[0] : known.url
  if (from === undefined) throw new ConfigError(`Peers know this service as ${to} already. There is nothing to change.`)
  if (!config.formerBaseUrls.includes(from))
    throw new ConfigError(
      `Cannot change the address: peers know this service as ${from}. Set TROUPE_FORMER_BASE_URLS=${from}, and restart the service.`,
    )
  if (from.startsWith('https:') && !to.startsWith('https:'))
    throw new ConfigError(`Cannot change the address from https to ${to}: peers would send their secrets unencrypted.`)
  const keyRing = await keyRingOf(config)
  for (const address of asksAgain ? [to] : [to, from]) {
    const problem = await addressProblem(address, { keyRing, provenUrl: to, timeoutMs })
    if (problem !== null) throw new ConfigError(`Cannot change the address. ${problem}`)
  }
  return { from, to, asksAgain, isRepeated }
}

async function report(store: Store, { from, to }: AddressChange): Promise<number> {
  const row = await store.read((q) =>
    q.get<{ actors: number; peers: number }>(
      `/* address */ SELECT COUNT(DISTINCT actor_id) AS actors, COUNT(*) AS peers FROM trust WHERE baseuri <> ''`,
    ),
  )
  print(`troupe readdress informs ${counted(row?.peers ?? 0, 'peer')} of ${counted(row?.actors ?? 0, 'actor')}.`)
  print(`from      ${from}`)
  print(`to        ${to}`)
  print(peersLine(await countAllPeers(store)))
  return 0
}

async function run(store: Store, config: Config, change: AddressChange): Promise<number> {
  const keyRing = await keyRingOf(config)
  let last: ReaddressProgress | null = null
  for await (const progress of readdress({ store, keyRing }, change)) {
    if (last === null && !change.asksAgain && progress.skipped.length === 0) await requireNotice(change, progress)
    last = progress
    if (progress.actors % progressEvery === 0) print(`${counted(progress.actors, 'actor')} …`)
  }
  const { actors = 0, peers = 0, skipped = [] } = last ?? {}
  const [what, of] = [counted(peers, 'peer'), counted(actors, 'actor')]
  print(`${what} of ${of} will ${change.asksAgain ? 'be informed or asked to connect again' : 'be informed'}.`)
  print(peersLine(await countAllPeers(store)))
  for (const actorId of skipped.slice(0, maxNamed)) printError(`left out  actor ${actorId} is moving or being replaced`)
  if (skipped.length === 0) return 0
  printError(`${counted(skipped.length, 'actor')} were left out: run the command again later.`)
  return 1
}

/** @throws ConfigError when the running service does not know its former address, so that peers would refuse the statements. */
async function requireNotice({ from }: AddressChange, { actorId }: ReaddressProgress): Promise<void> {
  const answer = await fetch(`${from}/${actorId}/meta/moving`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const body = (await bytesOf(answer, longestAnswer)).toString('utf8')
  if (!body.includes('"notices"'))
    throw new ConfigError(
      `The running service does not publish its change of address: restart it with TROUPE_FORMER_BASE_URLS=${from}, and run the command again.`,
    )
}
