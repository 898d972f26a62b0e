/** A line between a client and a server that can be cut, or go dead, at a chosen moment. */
import { connect, createServer, type Socket } from 'node:net'

export interface Relay {
  readonly port: number
  /** Decides about each piece that a client sends; by default everything passes. */
  judge: (piece: Buffer) => 'pass' | 'cut before it arrives' | 'cut before the answer'
  /** From now on nothing passes in either direction, and nobody is told. */
  silence(): void
  /** Breaks all lines; new ones may be made. */
  cut(): void
  close(): Promise<void>
}

export async function openRelay(targetPort: number): Promise<Relay> {
  let silent = false
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A line that breaks is what this is for.
    socket.on('error', () => {})
    return socket
  }
  const server = createServer((inner) => {
    const client = keep(inner)
    const target = keep(connect(targetPort, '127.0.0.1'))
    let answerable = true
    client.on('data', (piece: Buffer) => {
      if (silent) return
      const verdict = relay.judge(piece)
      if (verdict === 'cut before it arrives') {
        client.destroy()
        target.destroy()
        return
      }
      if (verdict === 'cut before the answer') answerable = false
      target.write(piece)
    })
    target.on('data', (piece) => {
      if (silent) return
      if (answerable) client.write(piece)
      else client.destroy()
    })
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const relay: Relay = {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    judge: () => 'pass',
    silence: () => {
      silent = true
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return relay
}
