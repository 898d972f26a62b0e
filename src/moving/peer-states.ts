/**
 * The states of a peer of an actor that arrived. `informed`: the peer has the new address. `asked`: it got a new request.
 * `kept`: it cannot follow a statement, and keeps the former address of this service.
 */
export const peerStates = ['waiting', 'informed', 'asked', 'kept', 'failed'] as const
export type PeerState = (typeof peerStates)[number]
