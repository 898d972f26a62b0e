/** Another change came between the reads of a transaction and its commit, so that the transaction runs again. */
export class OvertakenError extends Error {
  constructor() {
    super('Another request changed what this transaction has read. The transaction runs again.')
    this.name = 'OvertakenError'
  }
}
