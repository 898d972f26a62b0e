import type { PeerClient } from '../peer/peer-client.ts'
import type { Runtime } from '../runtime.ts'
import type { OneTime } from '../token/one-time.ts'
import { ConnectionActs } from './acts.ts'
import type { ThirdPartyService } from './configured.ts'
import { Connections } from './connections.ts'

interface ConnectionNeeds {
  readonly services: ReadonlyMap<string, ThirdPartyService>
  readonly oneTime: OneTime
  readonly client: PeerClient
}

export function createConnections(runtime: Runtime, needs: ConnectionNeeds) {
  const connections = new Connections({ ...runtime, ...needs })
  return { connections, connectionActs: new ConnectionActs(connections) }
}
