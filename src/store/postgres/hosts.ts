/**
 * Several hosts in the URL of a database, as libpq has them (https://www.postgresql.org/docs/current/libpq-connect.html,
 * "Specifying Multiple Hosts"): each connection goes to the first host that accepts changes.
 */
import pg from 'pg'
import { StoreStartError } from '../start-error.ts'

export interface Host {
  readonly host: string
  readonly port: number
}

const DEFAULT_PORT = 5432
/** `any` too means a server that accepts changes, because the service cannot run on another. */
const TARGETS: readonly string[] = ['any', 'primary', 'read-write']

/**
 * Returns the URL with its first host alone, without the parameters that the driver does not know, and all hosts.
 *
 * @throws StoreStartError for a port that is not a valid number, and for parameters that demand a read-only server or chance.
 */
export function splitHosts(url: string): { readonly url: string; readonly hosts: readonly Host[] } {
  const [scheme] = /^postgres(?:ql)?:\/\//.exec(url) ?? ['']
  const length = url.slice(scheme.length).search(/[/?#]/)
  const end = length === -1 ? url.length : scheme.length + length
  const at = Math.max(scheme.length, url.lastIndexOf('@', end - 1) + 1)
  const [path = '', query = ''] = url.slice(end).split('?', 2)
  const fields = new URLSearchParams(query)
  const target = fields.get('target_session_attrs')
  if (target !== null && !TARGETS.includes(target)) throw refused(`target_session_attrs must be ${TARGETS.join(', ')}`)
  if ((fields.get('load_balance_hosts') ?? 'disable') !== 'disable') throw refused('load_balance_hosts must be disable')
  fields.delete('target_session_attrs')
  fields.delete('load_balance_hosts')
  const [first = '', ...others] = url.slice(at, end).split(',')
  if (target === null && others.length === 0) return { url, hosts: [] }
  const rest = fields.size === 0 ? '' : `?${fields.toString()}`
  return { url: `${url.slice(0, at)}${first}${path}${rest}`, hosts: [first, ...others].map(hostOf) }
}

function hostOf(text: string): Host {
  const [, host = '', port] = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === '') throw refused('each host is a name or an address, with a port behind a colon')
  // The folder of a socket has encoded slashes.
  return { host: host.replaceAll(/^\[|\]$/g, '').replaceAll(/%2f/gi, '/'), port: Number(port ?? DEFAULT_PORT) }
}

/** The message has no part of the URL, which may contain a password. */
function refused(reason: string): StoreStartError {
  return new StoreStartError(`Cannot use the URL of the PostgreSQL database: ${reason}.`)
}

/** Returns the class of the connections: with one host, that of the driver. All connections remember the host that answered last. */
export function connectionTo(hosts: readonly Host[]): typeof pg.Client {
  if (hosts.length === 0) return pg.Client
  let answered = 0
  return class extends pg.Client {
    readonly #config: pg.ClientConfig

    constructor(config: pg.ClientConfig = {}) {
      super(config)
      this.#config = config
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = this.#choose().then(() => super.connect())
      if (callback === undefined) return connected
      void callBack(connected, callback)
      return undefined
    }

    async #choose(): Promise<void> {
      const errors: Error[] = []
      for (let tries = 0; tries < hosts.length; tries += 1) {
        const index = (answered + tries) % hosts.length
        const { host, port } = hosts[index] as Host
        const error = await faultOf({ host, port }, this.#config, hosts.length)
        if (error === null) {
          answered = index
          Object.assign(this, { host, port })
          return
        }
        errors.push(error)
      }
      const reasons = errors.map(({ message }) => message).join('; ')
      throw new AggregateError(errors, reasons)
    }
  }
}

/** The pool of the driver passes a callback, which gets no error when the connection is made. */
async function callBack(connected: Promise<unknown>, callback: (error: Error) => void): Promise<void> {
  const error = await connected.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  callback(error as Error)
}

/** Why the host cannot be used, or null. */
async function faultOf({ host, port }: Host, config: pg.ClientConfig, hosts: number): Promise<Error | null> {
  const timeoutMs = Math.ceil((config.connectionTimeoutMillis ?? 0) / (hosts + 1))
  const client = new pg.Client({ ...config, pipeline: false, connectionTimeoutMillis: timeoutMs })
  Object.assign(client, { host, port })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(
      `SELECT 1 AS fit WHERE NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'`,
    )
    if (rows.length === 1) return null
    // The code of a server that starts: a standby may accept changes later.
    return Object.assign(new Error(`${host}:${port} accepts no changes`), { code: '57P03' })
  } catch (error) {
    return error instanceof Error ? error : new Error('the connection failed')
  } finally {
    await client.end().catch(() => {})
  }
}
