# A connection by a socket of the file system, for clients that do what the library does not.
use strict;
use warnings;
use IO::Socket::UNIX;

my $socket;

sub read_bytes {
  my ($length) = @_;
  my $bytes = '';
  while (length($bytes) < $length) {
    sysread($socket, $bytes, $length - length($bytes), length($bytes))
      or die('the server has closed the connection');
  }
  return $bytes;
}

sub read_packet {
  my ($low, $high, $number) = unpack('vCC', read_bytes(4));
  return read_bytes($low + ($high << 16));
}

sub packet {
  my ($number, $payload) = @_;
  my $length = length($payload);
  return pack('vCC', $length & 0xffff, $length >> 16, $number) . $payload;
}

sub send_all {
  my ($bytes) = @_;
  for (my $sent = 0; $sent < length($bytes);) {
    $sent += syswrite($socket, $bytes, length($bytes) - $sent, $sent)
      or die("the server takes no more: $!");
  }
}

sub expect_ok {
  my $answer = read_packet();
  die("no OK: $answer") if ord($answer) != 0;
}

# The user has no password. Returns the socket.
sub login {
  my ($path, $user) = @_;
  $socket = IO::Socket::UNIX->new(Peer => $path) or die("$path: $!");
  read_packet();
  # LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
  send_all(packet(1, pack('V V C x23 Z* C Z* Z*', 0x88209, 1 << 24, 255, $user, 0, '',
                          'caching_sha2_password')));
  expect_ok();
  return $socket;
}

1;
