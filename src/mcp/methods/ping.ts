/** `ping`: an empty result shows that the server answers. */
export async function ping(): Promise<void> {}
