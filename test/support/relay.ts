/** A TCP relay between a client and a server that can cut connections or drop all data at a chosen moment. */
import { connect, createServer, type Socket } from 'node:net'

export interface Relay {
  readonly port: number
  /** Decides about each chunk that a client sends. By default every chunk passes. */
  judge: (piece: Buffer) => 'pass' | 'cut before it arrives' | 'cut before the answer'
  /** Drops all further data in both directions without closing a connection. */
  silence(): void
  /** Closes all connections. New connections are still accepted. */
  cut(): void
  close(): Promise<void>
}

/** @param port The port of the relay. Default: a free one. */
export async function openRelay(targetPort: number, port = 0): Promise<Relay> {
  let silent = false
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A connection error is expected here.
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
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
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
