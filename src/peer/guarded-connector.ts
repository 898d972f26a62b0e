/** Connections that go only to addresses that were checked. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { refusedAddress } from './address-rules.ts'

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

/** By the system, which knows `/etc/hosts` too. */
export const resolveBySystem: Resolve = async (host) => lookup(host, { all: true })

export interface ConnectorOptions {
  readonly allowPrivatePeers: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** PEM; certificates of these authorities are believed in place of the system's. */
  readonly authorities?: readonly string[] | undefined
}

/**
 * A name is resolved once for each connection, and the answer that was checked is the answer that is connected to: a
 * name that resolves differently a moment later changes nothing. An address in place of a name never reaches a
 * resolver, so it is checked on its own.
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
    // Stated, because an environment variable can change what is so by default.
    rejectUnauthorized: true,
    // A resumed session is not checked against the name again, and sessions are kept by name without the port.
    maxCachedSessions: 0,
    ca: authorities === undefined ? undefined : [...authorities],
  })
  return (request, callback) => {
    const refused = isIP(request.hostname) === 0 ? null : refusedAddress(request.hostname, allowPrivatePeers)
    if (refused === null) connect(request, callback)
    else queueMicrotask(() => callback(new Error(`${request.hostname} is ${refused}`), null))
  }
}
