// To be imported before @xterm/addon-unicode-graphemes: it reads its tables
// with new DataView(bytes.buffer), from the start of the buffer, where Node
// puts small Buffers somewhere into a pool of 8 KiB. All characters beyond
// U+FFFF were then narrow and joined nothing. Browsers have no such pool.
Buffer.poolSize = 0;
