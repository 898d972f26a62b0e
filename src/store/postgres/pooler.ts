/** The parameter `pooler` of a database URL: how a connection pooler between the service and PostgreSQL treats sessions. */
import { StoreStartError } from '../start-error.ts'
import { type Host, splitHosts } from './hosts.ts'

/**
 * - `none`: a connection has its own session, without a pooler. The service sets the session up when it connects.
 * - `prepared`: a connection may get another session in each transaction, and the pooler keeps its prepared statements.
 * - `unprepared`: the same, and the pooler keeps no prepared statements.
 */
export type Pooler = 'none' | 'prepared' | 'unprepared'

const PARAMETER = 'pooler'
const poolers: readonly Pooler[] = ['none', 'prepared', 'unprepared']

export interface DatabaseAddress {
  /** The URL for the driver, with one host and without our parameters. */
  readonly url: string
  /** All hosts of a URL that names several. Empty: the host of the URL. */
  readonly hosts: readonly Host[]
  readonly pooler: Pooler
}

/** @throws StoreStartError for parameters that the service cannot follow. */
export function databaseAddress(given: string): DatabaseAddress {
  const { url, hosts } = splitHosts(given)
  const [address = '', query] = url.split('?', 2)
  const fields = new URLSearchParams(query)
  const named = fields.get(PARAMETER)
  if (named === null) return { url, hosts, pooler: 'none' }
  const pooler = poolers.find((name) => name === named)
  if (pooler === undefined || fields.getAll(PARAMETER).length > 1)
    throw new StoreStartError(
      `Cannot use the URL of the PostgreSQL database: its parameter pooler must be one of ${poolers.join(', ')}.`,
    )
  fields.delete(PARAMETER)
  return { url: fields.size === 0 ? address : `${address}?${fields.toString()}`, hosts, pooler }
}
