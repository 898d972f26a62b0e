/** Thrown to roll back: another sign-in committed first. */
export class LostRace extends Error {}
