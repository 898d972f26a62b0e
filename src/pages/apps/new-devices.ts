/** Finds sign-ins on devices that the owner may not know. */
import type { Chain } from '../../token/chain.ts'
import { unknownDevice } from '../../token/device.ts'

/** Time in which a sign-in counts as new. */
const newMs = 7 * 24 * 60 * 60 * 1000

type Session = Pick<Chain, 'chainId' | 'device' | 'createdAt'>

/**
 * Returns the sessions that began after the open one, on a device that no older session has. So the owner learns of them on a
 * device that was there before, and a new device says nothing about itself.
 *
 * @param current The session that displays the page; without one, nothing is new.
 */
export function onNewDevices<S extends Session>(
  sessions: readonly S[],
  current: string | undefined,
  now: number,
): readonly S[] {
  const open = sessions.find(({ chainId }) => chainId === current)
  if (open === undefined) return []
  const since = Math.max(open.createdAt, now - newMs)
  const isKnown = ({ device, createdAt }: S): boolean =>
    // Unknown devices may be different ones.
    device !== '' &&
    device !== unknownDevice &&
    sessions.some((other) => other.device === device && other.createdAt < createdAt)
  return sessions.filter((session) => session.createdAt > since && !isKnown(session))
}
