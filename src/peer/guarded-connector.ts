/** Connections that only reach addresses that were checked. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { refusedAddress } from './address-rules.ts'

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

/** Resolves with the operating system, which also reads `/etc/hosts`. */
export const resolveBySystem: Resolve = async (host) => lookup(host, { all: true })

export interface ConnectorOptions {
  readonly allowPrivatePeers: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** PEM certificates of authorities that replace those of the system. */
  readonly authorities?: readonly string[] | undefined
}

/**
 * Builds a connector that resolves a name once for each connection and connects to the address that it checked. DNS
 * rebinding therefore has no effect. A literal address never reaches the resolver, so it is checked separately.
 */
export function guardedConnector(build: typeof buildConnector, options: ConnectorOptions): buildConnector.connector {
  const { allowPrivatePeers, authorities } = options
  const checkedAddresses = callbackify(async (host: string): Promise<readonly LookupAddress[]> => {
    const addresses = await options.resolve(host)
    for (const { address } of addresses) {
      const refused = refusedAddress(address, allowPrivatePeers)
      if (refused !== null) throw new Error(`${host} resolves to ${address}, ${refused}`)
    }
    return addresses
  })
  const checkedLookup: LookupFunction = (host, { all }, callback) => {
    checkedAddresses(host, (error, addresses) => {
      const first = addresses?.[0]
      if (first === undefined) callback(error ?? new Error(`${host} has no address`), [])
      else if (all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  }
  const connect = build({
    lookup: checkedLookup,
    timeout: options.timeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
    allowH2: false,
    // Set explicitly, because an environment variable can change the default.
    rejectUnauthorized: true,
    // A resumed session is not checked against the host name again, and the cache ignores the port.
    maxCachedSessions: 0,
    ca: authorities === undefined ? undefined : [...authorities],
  })
  return (request, callback) => {
    const refused = isIP(request.hostname) === 0 ? null : refusedAddress(request.hostname, allowPrivatePeers)
    if (refused === null) connect(request, callback)
    else queueMicrotask(() => callback(new Error(`${request.hostname} is ${refused}`), null))
  }
}
