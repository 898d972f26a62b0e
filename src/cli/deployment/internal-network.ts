/** Requests by which a service could be led into its own network (SSRF). */
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { OutsideCheck, OutsideOwner } from '../../features/feature.ts'
import { projectChecks } from '../project/known-project.ts'
import { fine, type Finding, problem } from './finding.ts'
import { objectIn, type Probe } from './probe.ts'

/** The owner in whose name relationships and what features add are tried. */
export interface OwnerLogin {
  readonly actorId: string
  /** `Basic …` */
  readonly authorization: string
}

/** Why the sign-in of the owner was not sent. */
export interface Unsent {
  readonly why: string
  readonly fix: string
}

/** Addresses that no service may call on behalf of a stranger. The first is the metadata service of clouds. */
const forbidden = ['169.254.169.254', '127.0.0.1', '[::1]', '10.0.0.1', 'localhost'] as const

export async function networkFindings(probe: Probe, owner: OwnerLogin | Unsent | null): Promise<Finding[]> {
  const canary = await startCanary()
  try {
    const findings = [await clientDocuments(probe, canary)]
    if (owner === null) return findings
    if ('why' in owner) {
      const unsent = [...projectChecks().map(({ name }) => name), 'trust']
      return [...findings, ...unsent.map((check) => problem(check, owner.why, owner.fix))]
    }
    for (const check of projectChecks()) findings.push(await tried(probe, owner, check))
    return [...findings, await relationships(probe, owner, canary)]
  } finally {
    await canary.close()
  }
}

interface Canary {
  /** Private addresses of this machine, each with the port at which it listens. */
  readonly hosts: readonly string[]
  /** Connections so far. */
  readonly visits: () => number
  close(): Promise<void>
}

/** Listens at the private addresses of this machine. A service here or in the same network would be able to connect. */
async function startCanary(): Promise<Canary> {
  let visits = 0
  const addresses = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ family }) => family === 'IPv4')
    .map(({ address }) => address)
  const servers: Server[] = []
  const hosts: string[] = []
  for (const address of new Set(addresses)) {
    const server = createServer((socket) => {
      visits += 1
      socket.destroy()
    })
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(0, address, () => resolve(true))
    })
    const bound = server.address()
    if (!isListening || bound === null || typeof bound === 'string') continue
    servers.push(server)
    hosts.push(`${address}:${bound.port}`)
  }
  return {
    hosts,
    visits: () => visits,
    close: async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

const advice = 'Remove TROUPE_ALLOW_PRIVATE_PEERS, and let the service reach the Internet alone.'

/** The service fetches the metadata document of a client whose id is a URL. */
async function clientDocuments(probe: Probe, { hosts, visits }: Canary): Promise<Finding> {
  for (const host of [...forbidden, ...hosts]) {
    const query = new URLSearchParams({
      client_id: `https://${host}/client.json`,
      redirect_uri: `https://${host}/back`,
      response_type: 'code',
    })
    await probe.send(`/oauth/authorize?${query.toString()}`)
  }
  return visits() === 0
    ? fine('network', 'A stranger could not make it call this machine or a private address.')
    : problem('network', 'A stranger made it connect to a private address, with the id of a client.', advice)
}

async function tried(probe: Probe, { actorId, authorization }: OwnerLogin, check: OutsideCheck): Promise<Finding> {
  const denied = new Error('The service does not accept the credentials')
  const owner: OutsideOwner = {
    privateHosts: forbidden,
    advice,
    send: async (method, path, body) => {
      const answer = await probe.send(`/${actorId}${path}`, {
        method,
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (answer.status === 401 || answer.status === 403) throw denied
      return { status: answer.status, body: objectIn(answer) }
    },
  }
  try {
    const { reason, fix } = await check.run(owner)
    return fix === undefined ? fine(check.name, reason) : problem(check.name, reason, fix)
  } catch (error) {
    if (error === denied) return noLogin(check.name)
    throw error
  }
}

async function relationships(probe: Probe, { actorId, authorization }: OwnerLogin, canary: Canary): Promise<Finding> {
  const { hosts, visits } = canary
  const before = visits()
  const reached: string[] = []
  for (const host of [...forbidden, ...hosts]) {
    const answer = await probe.send(`/${actorId}/trust`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `https://${host}/troupe-doctor`, relationship: 'friend' }),
    })
    if (answer.status === 401 || answer.status === 403) return noLogin('trust')
    if (answer.status >= 300) continue
    reached.push(host)
    const { peerid } = objectIn(answer)
    if (typeof peerid !== 'string') continue
    const path = `/${actorId}/trust/friend/${encodeURIComponent(peerid)}`
    await probe.send(path, { method: 'DELETE', headers: { authorization } })
  }
  return reached.length === 0 && visits() === before
    ? fine('trust', 'A relationship cannot have a private address.')
    : problem('trust', 'A request for a relationship reached a private address.', advice)
}

function noLogin(check: string): Finding {
  return problem(
    check,
    'The service does not accept the credentials in DOCTOR_LOGIN, so this was not tried.',
    'Set DOCTOR_LOGIN to the creator and the passphrase of the actor, as in ada@example.com:….',
  )
}
