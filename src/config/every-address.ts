/** The values of `HOST` with which the service listens on every address of the machine. */
const everyAddress: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]', '0', '::0', '0:0:0:0:0:0:0:0'])

export function isEveryAddress(host: string): boolean {
  return everyAddress.has(host)
}

/** Names the risk of a port that every network of the machine reaches. Null: the service listens elsewhere. */
export function everyAddressWarning({
  host,
  port,
  trustedProxies,
}: {
  readonly host: string
  readonly port: number
  readonly trustedProxies: number
}): string | null {
  if (!isEveryAddress(host)) return null
  const forged = trustedProxies === 0 ? '' : ', and can forge the address in X-Forwarded-For'
  return `HOST is ${host}: every network of this machine reaches port ${port} without the proxy, unencrypted${forged}. Set HOST=localhost when the proxy runs on this machine. In a container, publish the port to the proxy alone.`
}
