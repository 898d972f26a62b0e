/** Whether the way to a server is private, so that secrets may take it. */

/** True for https, and for a server on this machine. Others on the way can read plain HTTP and answer in place of the server. */
export function isPrivateWay({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}
